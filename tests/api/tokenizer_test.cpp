// The public Tokenizer: its results equal the output of the program and the golden results of the internal
// tokenizer.
#include "regard/tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using Json = nlohmann::json;
using testing::golden;

std::vector<std::vector<std::uint32_t>> lists(const std::vector<TextOffsets>& offsets) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const TextOffsets& one : offsets) all.push_back({one.begin, one.end});
  return all;
}

// Expect the fields that `regard tokenizer encode --json` prints. tests/text compares those with goldens.
void expect_program_fields(const Encoding& encoding, const Json& line) {
  EXPECT_EQ(Json(encoding.ids), line.at("ids"));
  EXPECT_EQ(Json(encoding.tokens), line.at("tokens"));
  EXPECT_EQ(Json(lists(encoding.character_offsets)), line.at("offsets"));
  EXPECT_EQ(Json(lists(encoding.offsets)), line.at("byte_offsets"));
  EXPECT_EQ(Json(encoding.types), line.at("type_ids"));
  EXPECT_EQ(Json(encoding.special), line.at("special_tokens_mask"));
  EXPECT_EQ(Json(encoding.attention_mask), line.at("attention_mask"));
}

TEST(PublicTokenizer, EncodesAndDecodesAsTheProgramDoes) {
  if (!std::filesystem::exists(testing::program_path())) GTEST_SKIP() << "the program is not built";
  const testing::TemporaryFolder folder;
  const std::string file = golden("hf-more/bert-nli").string(), text = "Green rivers, naïve bank.";
  const Tokenizer tokenizer(file);
  const auto run = [&](const std::vector<std::string>& more, const std::string& input) {
    std::vector<std::string> arguments{"tokenizer", "encode", "-T", file, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = testing::run_program(arguments, folder.path(), input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return Json::parse(result.out);
  };
  const Encoding encoding = tokenizer.encode(text);
  expect_program_fields(encoding, run({}, text + "\n"));
  expect_program_fields(tokenizer.encode(text, {.add_special = false}), run({"--no-special"}, text + "\n"));
  const std::string pair = Json{{"text", text}, {"pair", "The bank."}}.dump();
  expect_program_fields(tokenizer.encode(text, "The bank."), run({"--input-format", "jsonl"}, pair + "\n"));
  EXPECT_EQ(tokenizer.ids(text), encoding.ids);

  const std::vector<TextPair> texts{{text}, {text, "The bank."}, {""}};
  const std::vector<Encoding> batch = tokenizer.encode(texts);
  ASSERT_EQ(batch.size(), 3u);
  EXPECT_EQ(batch[0].ids, encoding.ids);
  EXPECT_EQ(batch[1].ids, tokenizer.encode(text, "The bank.").ids);

  TokenStream stream(tokenizer);
  std::string pieces;
  for (const std::int32_t id : encoding.ids) pieces += stream.push(id);
  pieces += stream.finish();
  EXPECT_EQ(pieces, tokenizer.decode(encoding.ids));
  std::string again;  // after finish(), the decoder can be used for another text
  for (const std::int32_t id : encoding.ids) again += stream.push(id);
  EXPECT_EQ(again + stream.finish(), pieces);
}

TEST(PublicTokenizer, TruncatesWithOverlappingParts) {
  const Tokenizer tokenizer(golden("hf-more/bert-nli"));
  const std::string text = "green river bank green river bank green";
  const Encoding whole = tokenizer.encode(text);
  const Encoding cut = tokenizer.encode(text, {.max_length = 5, .stride = 1});
  ASSERT_EQ(cut.ids.size(), 5u);
  ASSERT_FALSE(cut.overflowing.empty());
  EXPECT_EQ(cut.overflowing[0].ids[1], cut.ids[3]) << "one token is shared";
  EXPECT_TRUE(std::equal(cut.ids.begin(), cut.ids.begin() + 4, whole.ids.begin()));
  EXPECT_REGARD_ERROR(tokenizer.encode(text, {.max_length = 1}), ErrorKind::usage, "special tokens");
  EXPECT_REGARD_ERROR(tokenizer.encode(text, {.max_length = 5, .stride = 5}), ErrorKind::usage, "stride");
  EXPECT_REGARD_ERROR(tokenizer.encode(text, {.max_length = -1}), ErrorKind::usage, "negative");
}

TEST(PublicTokenizer, KnowsItsVocabularyAndSavesItself) {
  const testing::TemporaryFolder folder;
  const Tokenizer tokenizer(golden("hf-more/bert-nli"));
  EXPECT_EQ(tokenizer.type(), "WordPiece");
  const std::int32_t cls = tokenizer.id_of("[CLS]").value();
  EXPECT_EQ(tokenizer.token_of(cls), "[CLS]");
  EXPECT_TRUE(tokenizer.is_special(cls));
  EXPECT_FALSE(tokenizer.id_of("no such token").has_value());
  EXPECT_GT(tokenizer.vocabulary_size(), cls);
  tokenizer.save(folder / "tokenizer.json");
  const Tokenizer again(folder / "tokenizer.json");
  EXPECT_EQ(again.encode("Green bank.").ids, tokenizer.encode("Green bank.").ids);
  EXPECT_EQ(Json::parse(again.json()), Json::parse(tokenizer.json()));
}

TEST(PublicTokenizer, IsTrainedAsTheProgramTrainsIt) {
  if (!std::filesystem::exists(testing::program_path())) GTEST_SKIP() << "the program is not built";
  const testing::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the quick brown fox jumps over the lazy dog\nthe river bank\n";
  testing::write_file(folder.path(), "text.txt", text);
  const std::vector<std::filesystem::path> files{folder / "text.txt"};
  double last = 0.0;
  const Tokenizer trained = Tokenizer::train(
      files, {.type = "bpe", .vocabulary_size = 300, .progress = [&](double share, std::string_view) {
                last = share;
                return true;
              }});
  EXPECT_GT(last, 0.0);
  const auto result = testing::run_program(
      {"tokenizer", "train", "--type", "bpe", "--vocab-size", "300", "-o", "t.json", "text.txt"},
      folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(trained.json()), Json::parse(Tokenizer(folder / "t.json").json()));
  EXPECT_EQ(trained.decode(trained.ids("the lazy river")), "the lazy river");
  EXPECT_REGARD_ERROR(Tokenizer::train(files, {.vocabulary_size = 300,
                                               .progress = [](double, std::string_view) { return false; }}),
                      ErrorKind::cancelled, "cancelled");
  EXPECT_REGARD_ERROR(Tokenizer::train(files, {.type = "sentence"}), ErrorKind::usage, "sentence");
  EXPECT_REGARD_ERROR(Tokenizer::train({}), ErrorKind::usage, "one file");
  EXPECT_REGARD_ERROR(Tokenizer::train(files, {.special_tokens = {"<unk>", "a\xff"}}),
                      ErrorKind::invalid_input, "UTF-8");
  testing::write_file(folder.path(), "bad.txt", "good\nb\xff\n" + text);
  const std::vector<std::filesystem::path> bad{folder / "bad.txt"};
  EXPECT_REGARD_ERROR(Tokenizer::train(bad), ErrorKind::bad_file, "bad.txt:2");
  EXPECT_GT(Tokenizer::train(bad, {.skip_bad_utf8 = true}).vocabulary_size(), 4);
}

TEST(PublicTokenizer, SharesThatOfAModel) {
  const testing::TemporaryFolder folder;
  testing::write_text_model(folder / "gpt", "gpt");
  const Tokenizer shared{load(folder / "gpt")}, own(folder / "gpt");
  EXPECT_EQ(shared.ids("the fox"), own.ids("the fox"));
  EXPECT_REGARD_ERROR(Tokenizer{load(golden("hf-tiny/vit"))}, ErrorKind::usage, "no tokenizer");
  const Model whisper = load(golden("sound/whisper-small"));
  EXPECT_EQ(Tokenizer(whisper, TextSide::target).ids("the fox"),
            Tokenizer(golden("sound/whisper-small")).ids("the fox"));
  EXPECT_REGARD_ERROR(Tokenizer(whisper, TextSide::source), ErrorKind::usage, "no tokenizer for its input");
}

TEST(PublicTokenizer, RefusesWhatDoesNotFit) {
  const Tokenizer tokenizer(golden("hf-more/bert-nli"));
  EXPECT_REGARD_ERROR(tokenizer.encode("a\xff"), ErrorKind::invalid_input, "UTF-8");
  EXPECT_REGARD_ERROR(tokenizer.encode("a", "\xff"), ErrorKind::invalid_input, "UTF-8");
  EXPECT_REGARD_ERROR(tokenizer.ids("\xff"), ErrorKind::invalid_input, "UTF-8");
  const std::vector<TextPair> texts{{"a", "\xff"}};
  EXPECT_REGARD_ERROR(tokenizer.encode(texts), ErrorKind::invalid_input, "UTF-8");
  const std::vector<std::int32_t> outside{1, 100000}, negative{-1};
  EXPECT_REGARD_ERROR(tokenizer.decode(outside), ErrorKind::invalid_input, "100000");
  EXPECT_REGARD_ERROR(tokenizer.decode(negative), ErrorKind::invalid_input, "-1");
  EXPECT_REGARD_ERROR(TokenStream(tokenizer).push(-1), ErrorKind::invalid_input, "-1");
  EXPECT_REGARD_ERROR(tokenizer.best("a", 3), ErrorKind::usage, "WordPiece");
  EXPECT_REGARD_ERROR(Tokenizer("nowhere.json"), ErrorKind::io, "nowhere.json");
  EXPECT_EQ(tokenizer.token_of(-1), "");
  EXPECT_FALSE(tokenizer.is_special(1 << 30));
}

}  // namespace
}  // namespace regard::testing
