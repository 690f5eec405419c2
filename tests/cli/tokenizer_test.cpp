// regard tokenizer, called as by a user.
#include <gtest/gtest.h>

#include <tuple>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

class TokenizerCommand : public ::testing::Test {
 protected:
  ProgramResult run(std::vector<std::string> arguments, const std::string& input = "") const {
    arguments.insert(arguments.begin(), "tokenizer");
    return run_program(arguments, folder_.path(), input);
  }
  TemporaryFolder folder_;
  std::string bert_ = golden("tokenizer-json/wordpiece-uncased").string();
  std::string gpt2_ = golden("tokenizer-json/bpe-gpt2").string();
};

TEST_F(TokenizerCommand, EncodesLineByLineInOrder) {
  const auto result =
      run({"encode", "-T", gpt2_}, "Money Bank Grows\n\nThe quick brown fox jumps over the lazy dog\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "45 609 89 373 964 417 531 83\n\n469 221 990 562 759 300 79 88 1407 885 301 605 90 89 477\n");
}

TEST_F(TokenizerCommand, JsonLinesGiveOneObjectEach) {
  const auto result =
      run({"encode", "-T", bert_, "--input-format", "jsonl"}, "{\"text\": \"a b\", \"pair\": \"c\"}\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = parse_json(result.out, "out");
  EXPECT_EQ(json.at("ids"), Json::parse("[2,24,25,3,26,3]"));
  EXPECT_EQ(json.at("type_ids"), Json::parse("[0,0,0,0,1,1]"));
  EXPECT_EQ(json.at("offsets"), Json::parse("[[0,0],[0,1],[2,3],[0,0],[0,1],[0,0]]"));
}

TEST_F(TokenizerCommand, JsonLinesFollowTheView) {
  const std::string lines = "{\"text\": \"a b\", \"pair\": \"c\"}\n{\"text\": \"a b\"}\n";
  const auto ids = run({"encode", "-T", bert_, "--input-format", "jsonl", "--view", "ids"}, lines);
  EXPECT_EQ(ids.out, "2 24 25 3 26 3\n2 24 25 3\n") << ids.err;
  const auto pieces = run({"encode", "-T", bert_, "--input-format", "jsonl", "--view", "pieces"}, lines);
  EXPECT_NE(pieces.out.find("\n2     24 25 3     26 3\n"), std::string::npos) << pieces.out;
  const auto json = run({"encode", "-T", bert_, "--input-format", "jsonl", "--view", "ids", "--json"}, lines);
  EXPECT_EQ(parse_json(json.out.substr(0, json.out.find('\n')), "out").at("ids"),
            Json::parse("[2,24,25,3,26,3]"));
}

TEST_F(TokenizerCommand, PiecesAreShownOverTheirIds) {
  const auto result = run({"encode", "-T", gpt2_, "--view", "pieces"}, "Money Bank\n");
  EXPECT_EQ(result.out, "M  one y  \u00B7B  ank\n45 609 89 373 964\n") << result.err;
}

TEST_F(TokenizerCommand, DecodesWhatItEncoded) {
  const auto ids = run({"encode", "-T", gpt2_}, "na\u00EFve \u0915\u0947\u0915\n").out;
  EXPECT_EQ(run({"decode", "-T", gpt2_}, ids).out, "na\u00EFve \u0915\u0947\u0915\n");
  EXPECT_EQ(run({"decode", "-T", gpt2_}, "[45, 609]\n{\"ids\": [89]}\n").out, "Mone\ny\n");
}

TEST_F(TokenizerCommand, TrainsAndSaves) {
  write_file(folder_.path(), "corpus.txt", "the cat sat on the mat\nthe cat ate\n");
  const auto trained = run({"train", "--vocab-size", "300", "-o", "t.json", "corpus.txt"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto info = run({"info", "--json", "t.json"});
  const Json json = parse_json(info.out, "out");
  EXPECT_EQ(json.at("model"), "BPE");
  EXPECT_EQ(json.at("special_tokens").at("</s>"), 3);
}

TEST_F(TokenizerCommand, WrongCallsAndFilesSayWhy) {
  struct Wrong {
    std::vector<std::string> arguments;
    std::string input;
    int exit_code;
    std::string message;
  };
  write_file(folder_.path(), "nonsense.json", "{\"model\": {\"type\": \"Magic\"}}");
  write_file(
      folder_.path(), "step.json",
      "{\"normalizer\": {\"type\": \"Spell\"}, \"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}}");
  write_file(
      folder_.path(), "merge.json",
      "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": [[\"a\", \"c\"]]}}");
  write_file(folder_.path(), "corpus.txt", "a\n");
  const std::vector<Wrong> wrong = {
      {{"encode"}, "", 2, "--tokenizer"},
      {{"encode", "-T", "nowhere.json"}, "", 4, "nowhere.json"},
      {{"encode", "-T", "nonsense.json"}, "", 3, "Magic"},
      {{"encode", "-T", "step.json"}, "", 3, "Spell"},
      {{"encode", "-T", "merge.json"}, "", 3, "'c'"},
      {{"encode", "-T", gpt2_, "--input-format", "jsonl"}, "{\"txt\": 1}\n", 3, "text"},
      {{"decode", "-T", gpt2_}, "1 x\n", 3, "invalid token id"},
      {{"decode", "-T", gpt2_}, "1500\n", 3, "1500"},
      {{"train", "--vocab-size", "10", "-o", "t.json", "corpus.txt"}, "", 2, "vocabulary"},
      {{"train", "-o", "t.json", "missing.txt"}, "", 4, "missing.txt"},
  };
  for (const Wrong& call : wrong) {
    const auto result = run(call.arguments, call.input);
    EXPECT_EQ(result.exit_code, call.exit_code) << result.err;
    EXPECT_NE(result.err.find(call.message), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "t.json"));
  }
}

TEST_F(TokenizerCommand, ListsTheBestWays) {
  const std::string pieces =
      testing::golden("sentencepiece/sp-unigram-nmtnfkc-bytefallback/sp.model").string();
  const auto result = run({"encode", "-T", pieces, "--nbest", "3"}, "The man beats the boy\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 3) << result.out;
  EXPECT_NE(result.out.find("\t329 521 352 557 262 271 582 295\n"), std::string::npos) << result.out;
  const auto lines =
      run({"encode", "-T", pieces, "--nbest", "3", "--input-format", "jsonl"}, "{\"text\": \"The\"}\n");
  EXPECT_EQ(lines.exit_code, 2) << lines.out;
  EXPECT_NE(lines.err.find("--input-format jsonl"), std::string::npos) << lines.err;
  const auto merges = run({"encode", "-T", gpt2_, "--nbest", "3"}, "The man\n");
  EXPECT_EQ(merges.exit_code, 2);
  EXPECT_NE(merges.err.find("cannot return n-best segmentations"), std::string::npos) << merges.err;
}

// The ids of `encode` are truncated or padded like its JSON, also if the tokenizer file sets only one of
// both.
TEST_F(TokenizerCommand, IdsFollowTheTruncationAndThePaddingOfTheFile) {
  const Json json = read_json((golden("truncation") / "truncation.json").string()).at("tokenizer");
  const Json truncation{
      {"direction", "Right"}, {"max_length", 3}, {"strategy", "LongestFirst"}, {"stride", 0}};
  const Json padding{
      {"strategy", {{"Fixed", 5}}}, {"direction", "Right"}, {"pad_to_multiple_of", nullptr}, {"pad_id", 0},
      {"pad_type_id", 0},           {"pad_token", "[PAD]"}};
  for (const auto& [cuts, pads, size] :
       {std::tuple(truncation, Json(nullptr), 3), {nullptr, padding, 5}, {nullptr, nullptr, 4}}) {
    Json changed = json;
    changed["truncation"] = cuts, changed["padding"] = pads;
    write_file(folder_.path(), "t.json", changed.dump());
    const auto ids = run({"encode", "-T", "t.json"}, "a b\n");
    const auto whole = run({"encode", "-T", "t.json", "--json"}, "a b\n");
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const Json encoding = parse_json(whole.out, "stdout");
    ASSERT_EQ(encoding["ids"].size(), static_cast<std::size_t>(size));
    std::string expected;
    for (const Json& id : encoding["ids"]) expected += (expected.empty() ? "" : " ") + id.dump();
    EXPECT_EQ(ids.out, expected + "\n") << ids.err;
    EXPECT_EQ(
        run({"encode", "-T", "t.json", "--input-format", "jsonl", "--view", "ids"}, R"({"text": "a b"})").out,
        expected + "\n");
    EXPECT_EQ(encoding.contains("overflowing"), size == 3) << encoding;
  }
}

TEST_F(TokenizerCommand, InfoAsText) {
  EXPECT_EQ(run({"info", bert_}).out,
            "model             WordPiece\n"
            "vocabulary_size   1200\n"
            "tokens            1200\n"
            "normalizer        BertNormalizer\n"
            "pre_tokenizer     BertPreTokenizer\n"
            "post_processor    BertProcessing\n"
            "decoder           WordPiece\n"
            "special token     [PAD] = 0\n"
            "special token     [UNK] = 1\n"
            "special token     [CLS] = 2\n"
            "special token     [SEP] = 3\n"
            "special token     [MASK] = 4\n");
}

TEST_F(TokenizerCommand, InfoHasThePartsAndTheSpecialTokens) {
  write_file(folder_.path(), "tokenizer.json",
             R"({"version": "1.0", "normalizer": {"type": "NFC"},
                 "added_tokens": [{"id": 9, "content": "<s>", "special": true}, {"id": 7, "content": "more"}],
                 "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
                 "model": {"type": "BPE", "vocab": {"a": 4, "b": 5}, "merges": []}})");
  EXPECT_EQ(run({"info", "tokenizer.json"}).out,
            "model             BPE\n"
            "vocabulary_size   10\n"
            "tokens            4\n"
            "normalizer        NFC\n"
            "pre_tokenizer     none\n"
            "post_processor    none\n"
            "decoder           ByteFallback → Fuse\n"
            "special token     <s> = 9\n");
  EXPECT_EQ(run({"info", "tokenizer.json", "--json"}).out,
            "{\"model\":\"BPE\",\"vocabulary_size\":10,\"tokens\":4,\"normalizer\":\"NFC\","
            "\"pre_tokenizer\":\"none\",\"post_processor\":\"none\",\"decoder\":\"ByteFallback → Fuse\","
            "\"special_tokens\":{\"<s>\":9}}\n");
}

}  // namespace
}  // namespace regard::testing
