// Every code point of every script through every component that uses Unicode tables, compared with digests of
// the output of Hugging Face's tokenizers (tools/unicode_reference.py --golden).
#include "text/unicode.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "support/shared_data.h"
#include "support/thread_time.h"
#include "text/normalizers.h"
#include "text/pieces.h"
#include "text/pre_tokenizers.h"

namespace regard::text {
namespace {

constexpr char32_t kBlock = 4096;

const Json& reference() {
  static const Json json = read_json((testing::golden("unicode-reference") / "golden.json").string());
  return json;
}

// Return the first four bytes (in hexadecimal) of the SHA-256 digest of the results of `result(text)` for a
// block of code points, joined by line ends.
template <class Result>
std::string digest_of_block(char32_t first, const std::string& suffix, Result result) {
  std::string joined;
  for (char32_t c = first; c < first + kBlock; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text = "a";
    utf8::append(text, c);
    if (c != first) joined += "\n";
    joined += result(text + suffix);
  }
  return sha256(bytes_of(joined)).substr(0, 8);
}

template <class Result>
void check_all(const std::string& digests, const std::string& suffix, Result result) {
  ASSERT_EQ(digests.size(), std::size_t{0x110000 / kBlock * 8});
  for (char32_t first = 0; first < 0x110000; first += kBlock) {
    // From U+34000 on, no scripts are assigned; test only the tags of plane 14 and the first block of each
    // plane.
    if (first >= 0x34000 && first != 0xE0000 && first % 0x10000 != 0) continue;
    if (testing::kSlowBuild && (first >= 0x34000 || first / kBlock % 8 != 0)) continue;
    EXPECT_EQ(digest_of_block(first, suffix, result), digests.substr(first / kBlock * 8, 8))
        << "U+" << std::hex << static_cast<std::uint32_t>(first);
  }
}

Json normalizer_json(const std::string& name) {
  if (!name.starts_with("Bert")) return {{"type", name}};
  const bool all = name == "BertUncased";
  return {{"type", "BertNormalizer"},
          {"clean_text", all || name == "BertClean"},
          {"handle_chinese_chars", all || name == "BertIdeographs"},
          {"strip_accents", all ? Json(nullptr) : Json(name == "BertAccents")},
          {"lowercase", all}};
}

class UnicodeNormalizer : public ::testing::TestWithParam<std::string> {};

TEST_P(UnicodeNormalizer, EveryCodePointAsTheReferenceHasIt) {
  const auto normalizer = read_normalizer(normalizer_json(GetParam()), "test");
  const Json& golden = reference().at("normalizers").at(GetParam());
  for (const auto& [suffix, place] : {std::pair("b", 0u), std::pair("\u0334", 1u)})
    check_all(golden.at(place).get<std::string>(), suffix, [&](const std::string& text) {
      AlignedText aligned(text, {}, 0, false);
      if (!normalizer->surely_unchanged(text)) normalizer->apply(aligned);
      return aligned.text();
    });
}

Json pre_tokenizer_json(const std::string& name) {
  if (name.find_first_of("\\[") != std::string::npos)
    return {{"type", "Split"}, {"pattern", {{"Regex", name}}}, {"behavior", "Isolated"}, {"invert", false}};
  if (name == "Digits") return {{"type", name}, {"individual_digits", true}};
  return {{"type", name}};
}

class UnicodePreTokenizer : public ::testing::TestWithParam<std::string> {};

TEST_P(UnicodePreTokenizer, EveryCodePointAsTheReferenceHasIt) {
  const auto cutter = read_pre_tokenizer(pre_tokenizer_json(GetParam()), "test", false).pre_tokenizer;
  check_all(reference().at("pre_tokenizers").at(GetParam()).get<std::string>(), "b",
            [&](const std::string& text) {
              Pieces pieces(text, false);
              cutter->apply(pieces);
              std::string joined;
              for (const Piece& piece : pieces.list()) joined.append(pieces.text_of(piece)).append("|");
              return joined;
            });
}

std::vector<std::string> names(const char* kind) {
  std::vector<std::string> all;
  for (const auto& [name, digests] : reference().at(kind).items()) all.push_back(name);
  return all;
}

std::string unicode_test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::string(1, c) : c == '^' ? "not" : "";
  return std::to_string(info.index) + "_" + name;
}

INSTANTIATE_TEST_SUITE_P(HuggingFace, UnicodeNormalizer, ::testing::ValuesIn(names("normalizers")),
                         unicode_test_name);
INSTANTIATE_TEST_SUITE_P(HuggingFace, UnicodePreTokenizer, ::testing::ValuesIn(names("pre_tokenizers")),
                         unicode_test_name);

}  // namespace
}  // namespace regard::text
