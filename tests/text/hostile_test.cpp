// Malicious or unusual texts and files: bounded time and memory, and a clear error or the behaviour of the
// reference.
#include <gtest/gtest.h>

#include <malloc.h>

#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "support/resident.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/thread_time.h"
#include "support/throws.h"
#include "text/base64.h"
#include "text/ids_encoder.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Builds with sanitizers are a hundred times slower, and check memory rather than time.
constexpr double kSecondsPerMiB = testing::kSlowBuild ? 60 : 1;
constexpr std::size_t kTimedBytes = testing::kSlowBuild ? kMiB / 32 : kMiB;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizerCountsMemory = true;
#else
constexpr bool kSanitizerCountsMemory = false;
#endif

using testing::resident_mib;
using testing::thread_seconds;

// Reset the peak of the resident memory. Return false if the kernel does not allow it.
bool begin_new_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5 << std::flush;
  return resident_mib("VmHWM") > 0 && resident_mib("VmHWM") < resident_mib("VmRSS") + 1;
}

std::string repeated(std::string_view part, std::size_t bytes) {
  std::string text;
  while (text.size() + part.size() <= bytes) text += part;
  return text;
}

std::vector<std::pair<std::string, std::string>> hostile_texts(std::size_t bytes) {
  std::string noise(bytes, '\0');
  std::uint32_t state = 1;
  for (char& byte : noise) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  return {{"one letter", std::string(bytes, 'a')},
          {"letters without a space", repeated("thequickbrownfoxjumpsoverthelazydog", bytes)},
          {"pairs that merge deeply", repeated("abababababababab", bytes)},
          {"spaces", std::string(bytes, ' ')},
          {"line ends", repeated("\r\n", bytes)},
          {"NULs", std::string(bytes, '\0')},
          {"any bytes", noise},
          {"bytes that continue nothing", std::string(bytes, '\x80')},
          {"combining marks", "a" + repeated("\u0301\u0323", bytes)},
          {"viramas", repeated("\u0915\u094D", bytes)},
          {"joined emoji", repeated("\U0001F468\u200D", bytes)},
          {"ideographs", repeated("\u6F22\u5B57", bytes)},
          {"an Arabic phrase in one letter", repeated("\uFDFA", bytes)},
          {"apostrophes", repeated("'s't", bytes)},
          {"signs and digits", repeated("1!", bytes)}};
}

class HostileText : public ::testing::TestWithParam<std::string> {};

// The memory is not measured under a sanitizer, whose own memory would be counted, and on kernels that do not
// start a new peak.
TEST_P(HostileText, OneMebibyteInASecondAndIn64MebibytesAboveTheModel) {
  const auto tokenizer = Tokenizer::load(testing::golden(GetParam()));
  std::vector<std::pair<std::string, std::string>> texts = hostile_texts(kTimedBytes);
  std::string numbers;  // text with few repeated words, which fills every cache
  for (std::uint64_t i = 0; numbers.size() + 16 < kTimedBytes; ++i)
    numbers += "w" + std::to_string(i * 0x9E3779B97F4A7C15u >> 44) + " ";
  texts.emplace_back("words that do not come again", std::move(numbers));
  const bool measure_memory = !kSanitizerCountsMemory && begin_new_peak();
  for (const auto& [what, text] : texts) {
    // Run on a new thread, whose caches are empty.
    std::thread([&] {
      ASSERT_TRUE(!measure_memory || begin_new_peak());
      const double before = resident_mib("VmRSS"), begin = thread_seconds();
      const std::vector<std::int32_t> ids = tokenizer->encode_ids(text, {.add_special = false});
      EXPECT_LT(thread_seconds() - begin, kSecondsPerMiB) << what;
      EXPECT_LE(ids.size(), 12 * text.size() + 16) << what;
      if (!measure_memory) return;
      const double result = static_cast<double>(ids.size() * sizeof ids[0]) / kMiB;
      // The limit excludes the ids, which are in memory twice while encode_ids() returns them.
      EXPECT_LT(resident_mib("VmHWM") - before - 2 * result, 64) << what;
    }).join();
  }
}

// encode_ids(), with scanners and a word cache, gives the same ids as encode().
TEST_P(HostileText, IdsAreThoseOfTheEncoding) {
  const auto tokenizer = Tokenizer::load(testing::golden(GetParam()));
  for (const auto& [what, text] : hostile_texts(3000)) {
    for (const std::string& variant :
         {text, " " + text, text + " x", "x\t" + text + "\u2581 " + text.substr(0, 99)})
      EXPECT_EQ(tokenizer->encode_ids(variant), tokenizer->encode(variant).ids) << what;
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, HostileText,
                         ::testing::Values("tokenizer-json/bpe-gpt2", "tokenizer-json/bpe-llama-old",
                                           "tokenizer-json/wordpiece-uncased",
                                           "tokenizer-json/unigram-t5-style",
                                           "sentencepiece/sp-unigram-nmtnfkc-bytefallback/sp.model",
                                           "sentencepiece/sp-bpe-identity/sp.model"),
                         test_name);

// Lines composed of parts that scanners, normalizers and the word cache treat differently.
TEST(IdsEncoder, EqualsTheEncodingOnMixedLines) {
  const std::vector<std::string> parts = {
      "the",     " The",      "DON'T",      " it's",     "  ",      "\t",
      "\n",      "\r\n",      " 1234",      "\u00E9",    "e\u0301", " \u0915\u093F",
      "\u3042",  " \u6F22",   "\uAC00",     "\u00AD",    "\u200B",  "\u00A0",
      "\u3000",  "\u2581",    " \u2581",    "\uFB01",    "\uFDFA",  "=\u0338",
      "\u0600",  " \u0600 a", "\u0D4E ",    "<s>",       "[MASK]",  "</s>",
      "\x80",    "\xF0\x9F",  "\U0001F600", "camelCase", "\u0130",  "\u017F",
      "'\u017F", "..",        "!",          ",",         "-",       std::string(1, '\0'),
      "\x1F",    "\x7F",      "x",          " ab",       "zz",      "\uFE0F",
      "\u037A",  "\uFEFF"};
  std::uint32_t state = 7;
  const auto next = [&](std::size_t count) { return ((state = state * 1664525 + 1013904223) >> 8) % count; };
  const Json index = read_json((testing::golden("tokenizer-json") / "index.json").string());
  std::vector<std::filesystem::path> paths = {
      testing::golden("sentencepiece/sp-bpe-identity/sp.model"),
      testing::golden("sentencepiece/sp-unigram-nmtnfkc-bytefallback/sp.model")};
  for (const Json& entry : index.at("tokenizers"))
    paths.push_back(testing::golden("tokenizer-json") / entry.at("name").get<std::string>());
  for (const auto& path : paths) {
    Json json = Tokenizer::load(path)->to_json();
    json["truncation"] = json["padding"] = nullptr;
    const auto tokenizer = Tokenizer::from_json(json, path.string());
    for (int line = 0; line < 400; ++line) {
      std::string text;
      for (std::size_t i = next(30); i-- > 0;) text += parts[next(parts.size())];
      ASSERT_EQ(tokenizer->encode_ids(text), tokenizer->encode(text).ids)
          << path << ": " << Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
    }
  }
}

TEST(Hostile, TenMegabytesWithoutASpace) {
  const auto tokenizer = Tokenizer::load(testing::golden("tokenizer-json/bpe-gpt2"));
  const std::string text =
      repeated("abcdefghijklmnopqrstuvwxyz", testing::kSlowBuild ? 1'000'000 : 10'000'000);
  const double begin = thread_seconds();
  const std::vector<std::int32_t> ids = tokenizer->encode_ids(text, {.add_special = false});
  EXPECT_LT(thread_seconds() - begin, 10 * kSecondsPerMiB);
  EXPECT_EQ(tokenizer->decode(ids), text);
}

Json bpe_json() {
  return {{"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}}}, {"merges", {"a b"}}}}};
}

ErrorKind kind_of(const Json& json) {
  try {
    Tokenizer::from_json(json, "test");
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::internal;
}

TEST(HostileFile, MergesOfUnknownTokensAreRefused) {
  Json json = bpe_json();
  json["model"]["merges"] = {"a c"};
  EXPECT_EQ(kind_of(json), ErrorKind::bad_file);
  json["model"]["merges"] = {"b a"};  // both tokens are in the vocabulary, but not their merge
  EXPECT_EQ(kind_of(json), ErrorKind::bad_file);
  json["model"]["merges"] = {"ab"};
  EXPECT_EQ(kind_of(json), ErrorKind::bad_file);
}

TEST(HostileFile, MissingOrWronglyTypedPartsAreRefused) {
  Json json = bpe_json();
  json["model"].erase("merges");
  EXPECT_EQ(kind_of(json), ErrorKind::bad_file);
  for (const Json& pattern :
       {Json(3), Json::array(), Json({{"Regex", 1}}), Json({{"String", Json::array()}})}) {
    json = bpe_json();
    json["pre_tokenizer"] = {
        {"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}, {"invert", false}};
    EXPECT_EQ(kind_of(json), ErrorKind::bad_file) << pattern;
    json = bpe_json();
    json["normalizer"] = {{"type", "Replace"}, {"pattern", pattern}, {"content", "x"}};
    EXPECT_EQ(kind_of(json), ErrorKind::bad_file) << pattern;
  }
}

TEST(HostileFile, HolesAndRepeatedIds) {
  Json json = bpe_json();
  json["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 7}};
  const auto holes = Tokenizer::from_json(json, "test");
  EXPECT_EQ(holes->vocabulary_size(), 8);
  EXPECT_EQ(holes->token_count(), 3);
  EXPECT_EQ(holes->token_of(5), "");
  EXPECT_EQ(holes->encode_ids("ab"), std::vector<std::int32_t>{7});
  json["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"ab", 1}};  // id 1 decodes to the later of the two tokens
  const auto repeated_id = Tokenizer::from_json(json, "test");
  EXPECT_EQ(repeated_id->encode_ids("abb"), (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(repeated_id->token_of(1), "ab");
  for (const Json& id : {Json(-1), Json(1.5), Json("1"), Json(std::int64_t{1} << 40), Json(nullptr)}) {
    json["model"]["vocab"] = {{"a", id}, {"b", 1}, {"ab", 2}};
    EXPECT_EQ(kind_of(json), ErrorKind::bad_file) << id;
  }
}

// All characters are unknown if a unigram model has no pieces or only empty ones.
TEST(HostileFile, UnigramWithoutPieces) {
  Json json = bpe_json();
  json["model"] = {{"type", "Unigram"}, {"unk_id", nullptr}, {"vocab", Json::array()}};
  EXPECT_THROW(Tokenizer::from_json(json, "test")->encode_ids("ab"), Error);
  json["model"]["unk_id"] = 0;
  json["model"]["vocab"] = Json::array({{"", 0.0}, {"", -1.0}});
  EXPECT_EQ(Tokenizer::from_json(json, "test")->encode_ids("ab"), std::vector<std::int32_t>{0});
}

TEST(HostileFile, UnknownComponentsAreNamed) {
  for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    Json json = bpe_json();
    json[part] = {{"type", "Telepathy"}};
    try {
      Tokenizer::from_json(json, "test");
      ADD_FAILURE() << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_file);
      EXPECT_NE(std::string(error.what()).find("Telepathy"), std::string::npos) << part;
    }
  }
}

// A decoder must not search for an empty string again and again. As in Hugging Face's library, an empty
// string occurs before each character and at the end.
TEST(HostileFile, DecodersThatReplaceNothing) {
  const std::vector<std::pair<Json, std::string>> decoders{
      {{{"type", "CTC"}, {"pad_token", ""}, {"word_delimiter_token", ""}}, " a  b "},
      {{{"type", "BPEDecoder"}, {"suffix", ""}}, " a b"},
      {{{"type", "Metaspace"}, {"replacement", ""}}, "ab"},
      {{{"type", "Strip"}, {"content", ""}, {"start", 4294967295}, {"stop", 4294967295}}, "ab"}};
  for (const auto& [decoder, text] : decoders) {
    Json json = bpe_json();
    json["decoder"] = decoder;
    EXPECT_EQ(Tokenizer::from_json(json, "test")->decode(std::vector<std::int32_t>{0, 1}), text) << decoder;
  }
}

TEST(HostileFile, RanksOfTiktokenAreWholeNumbers) {
  const testing::TemporaryFolder home;
  const auto load = [&](const std::string& last) {
    std::string lines;
    for (int byte = 0; byte < 256; ++byte)
      lines += encode_base64(std::string(1, static_cast<char>(byte))) + " " + std::to_string(byte) + "\r\n";
    write_file_atomically(home.path() / "gpt2.tiktoken", lines + last);
    return Tokenizer::load(home.path() / "gpt2.tiktoken");
  };
  EXPECT_EQ(load("YWI= 256\r\n")->encode_ids("ab"), std::vector<std::int32_t>{256});
  for (const char* last : {"YWI= 256x\n", "YWI= 256 257\n", "YWI= 25.6\n", "YWI= \n"})
    EXPECT_REGARD_ERROR(load(last), ErrorKind::bad_file, "gpt2.tiktoken:257");
}

// The name of the file selects the special tokens and the pattern. Only the pattern of cl100k_base ends a
// word after three digits.
TEST(HostileFile, TiktokenEncodingsAreFoundByTheirNames) {
  const testing::TemporaryFolder home;
  const auto load = [&](const std::string& name) {
    std::string lines;
    for (int byte = 0; byte < 256; ++byte)
      lines += encode_base64(std::string(1, static_cast<char>(byte))) + " " + std::to_string(byte) + "\n";
    write_file_atomically(home.path() / name, lines + encode_base64("34") + " 256\n");
    return Tokenizer::load(home.path() / name);
  };
  using Ids = std::vector<std::int32_t>;
  for (const auto& [name, end] : {std::pair("gpt2", 50256),
                                  {"r50k_base", 50256},
                                  {"p50k_base", 50256},
                                  {"cl100k_base", 100257},
                                  {"o200k_base", 199999}}) {
    const auto tokenizer = load(name + std::string(".tiktoken"));
    EXPECT_EQ(tokenizer->encode_ids("<|endoftext|>"), Ids{end}) << name;
    const Ids split{'1', '2', '3', '4'}, whole{'1', '2', 256};
    EXPECT_EQ(tokenizer->encode_ids("1234"), end < 100000 ? whole : split) << name;
  }
  EXPECT_EQ(load("cl100k_base.tiktoken")->encode_ids("<|fim_prefix|>"), Ids{100258});
  EXPECT_GT(load("o200k_base.tiktoken")->encode_ids("<|fim_prefix|>").size(), 1u);
  EXPECT_REGARD_ERROR(load("cl100k.tiktoken"), ErrorKind::bad_file, "found cl100k");
}

TEST(HostileFile, LoneSurrogatesInJson) {
  const std::string text =
      R"({"model": {"type": "WordLevel", "unk_token": "u", "vocab": {"u": 0, "\ud800": 1}}})";
  EXPECT_THROW(parse_json(text, "test"), Error);
}

TEST(HostileFile, PatternsThatExplode) {
  Json json = bpe_json();
  json["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "(a+)+$"}}}, {"behavior", "Isolated"}, {"invert", false}};
  const auto tokenizer = Tokenizer::from_json(json, "test");
  const double begin = thread_seconds();
  try {
    tokenizer->encode_ids(std::string(5000, 'a') + "b");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_file);
  }
  EXPECT_LT(thread_seconds() - begin, 2 * kSecondsPerMiB);
  json["pre_tokenizer"]["pattern"]["Regex"] = "(";
  EXPECT_EQ(kind_of(json), ErrorKind::bad_file);
}

}  // namespace
}  // namespace regard::text
