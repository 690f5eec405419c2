// Tokenizers without a tokenizer.json: vocab.txt, vocab.json with merges.txt, the tokens listed beside them,
// and the errors of these files.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "regard/error.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "text/encode_words.h"
#include "text/tokenizer.h"
#include "text/tokenizer_files.h"
#include "text/tokenizer_pair.h"

namespace regard::text {
namespace {

using Ids = std::vector<std::int32_t>;

class TokenizerFiles : public ::testing::Test {
 protected:
  void write(const char* name, const std::string& text) { write_file_atomically(home_.path() / name, text); }
  std::shared_ptr<const Tokenizer> load(const char* name = "") const {
    return Tokenizer::load(*name == '\0' ? home_.path() : home_.path() / name);
  }
  // Expect bad_file with this message, in which "DIR" is the folder.
  void expect_error(std::string message) const {
    message.replace(message.find("DIR"), 3, home_.path().string());
    testing::expect_error_text(ErrorKind::bad_file, message, [&] { load(); });
  }
  testing::TemporaryFolder home_;
};

TEST_F(TokenizerFiles, VocabTxtWithEachLineEnd) {
  const std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b", "é", "É"};
  for (const std::string end : {"\n", "\r\n"})
    for (const bool last_end : {true, false}) {
      std::string lines;
      for (const std::string& token : tokens) lines += token + end;
      if (!last_end) lines.resize(lines.size() - end.size());
      write("vocab.txt", lines);
      const auto tokenizer = load();
      EXPECT_EQ(tokenizer->vocabulary_size(), 9);
      EXPECT_EQ(tokenizer->encode_ids("AB É[MASK]x"), (Ids{2, 5, 6, 1, 4, 1, 3})) << "é has no accent";
      EXPECT_EQ(tokenizer->decode(Ids{2, 5, 6, 7, 4}), "ab é");
      EXPECT_TRUE(tokenizer->is_special(4));
      EXPECT_FALSE(tokenizer->is_special(5));
      EXPECT_EQ(load("vocab.txt")->to_json(), tokenizer->to_json());
    }
  write("tokenizer_config.json", R"({"do_lower_case": false, "strip_accents": false})");
  EXPECT_EQ(load()->encode_ids("AB É a漢b"), (Ids{2, 1, 8, 5, 1, 1, 3}));
  EXPECT_EQ(load("vocab.txt")->encode_ids("É"), (Ids{2, 8, 3}));
  write("tokenizer_config.json", R"({"strip_accents": false, "tokenize_chinese_chars": false})");
  EXPECT_EQ(load()->encode_ids("É a漢b"), (Ids{2, 7, 1, 3}));
}

TEST_F(TokenizerFiles, VocabTxtNeedsItsSpecialTokens) {
  for (const char* missing : {"[SEP]", "[CLS]", "[UNK]"}) {
    std::string lines = "a\n";
    for (const char* token : {"[SEP]", "[CLS]", "[UNK]"})
      if (std::string_view(token) != missing) lines += token + std::string("\n");
    write("vocab.txt", lines);
    expect_error("DIR/vocab.txt: a required token is missing from the BERT vocabulary (expected " +
                 std::string(missing) + ")");
  }
}

TEST_F(TokenizerFiles, MergesTxt) {
  write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "#version:": 3, "#version:a": 4})");
  write("merges.txt", "#version: 0.2\r\n\r\na b\r\n#version: a");
  EXPECT_EQ(load()->encode_ids("abb"), (Ids{2, 1}));
  EXPECT_EQ(load()->to_json().at("model").at("merges"), Json::parse(R"([["a", "b"], ["#version:", "a"]])"));
  const std::string wrong = ": expected two tokens that are separated by one space (found ";
  write("merges.txt", "#version: 0.2\na b\n\nab\n");
  expect_error("DIR/merges.txt:4" + wrong + "ab)");
  write("merges.txt", "a b c\n");
  expect_error("DIR/merges.txt:1" + wrong + "a b c)");
  write("merges.txt", "a b\n" + std::string(100, 'x') + "\n");
  expect_error("DIR/merges.txt:2" + wrong + std::string(60, 'x') + ")");
  write("merges.txt", "a b\nb a\n");
  expect_error("DIR/vocab.json: a merge has a token that is not in the vocabulary (found 'ba' in merge 1)");
}

TEST_F(TokenizerFiles, TheMaskOfRobertaTakesTheSpaceBeforeIt) {
  write("vocab.json", R"({"<s>": 0, "</s>": 1, "<mask>": 2, "a": 3, "Ġ": 4, "<pad>": 5})");
  write("merges.txt", "");
  EXPECT_EQ(load()->encode_ids("a <mask>a </s>a"), (Ids{0, 3, 2, 3, 4, 1, 3, 1}));
  write("tokenizer_config.json", R"({"add_prefix_space": true})");
  EXPECT_EQ(load()->encode_ids("a"), (Ids{0, 4, 3, 1}));
}

TEST_F(TokenizerFiles, ListedTokens) {
  write("vocab.json", R"({"a": 0})");
  write("merges.txt", "");
  write("added_tokens.json", R"(["<x>"])");
  expect_error("DIR/added_tokens.json: expected an object that maps tokens to ids (found an array)");
  write("added_tokens.json", R"({"<x>": "1"})");
  expect_error(
      "DIR/added_tokens.json: \"<x>\" has the wrong type or value (expected an integer, found the "
      "string \"1\")");
  const auto listed = [&](const std::string& json) {
    write("tokenizer_config.json", R"({"added_tokens_decoder": )" + json + "}");
  };
  const std::string wrong =
      "DIR/tokenizer_config.json: malformed added_tokens_decoder (expected an object that "
      "maps ids to tokens, found ";
  listed(R"({"x": {}})");
  expect_error(wrong + "an object for the key x)");
  listed(R"({"1": 5})");
  expect_error(wrong + "the number 5 for the key 1)");
  listed(R"([{"content": "<x>"}])");
  expect_error(wrong + "an array for the key 0)");
  listed(R"({"3": {"content": "<y>", "special": true}, "2": {"content": "<x>"}})");
  const Json json = load()->to_json();
  ASSERT_EQ(json.at("added_tokens").size(), 2u);
  EXPECT_EQ(json.at("added_tokens")[0].at("content"), "<x>");
  EXPECT_EQ(json.at("added_tokens")[1].at("content"), "<y>");
  EXPECT_EQ(load()->encode_ids("a<y><x>"), (Ids{0, 3, 2}));
}

TEST_F(TokenizerFiles, AFolderWithoutATokenizer) {
  EXPECT_FALSE(has_tokenizer(home_.path()));
  write("vocab.json", R"({"a": 0})");
  EXPECT_FALSE(has_tokenizer(home_.path()));
  expect_error(
      "DIR: no tokenizer in the folder (expected tokenizer.json, vocab.txt, vocab.json with "
      "merges.txt, source.spm with target.spm and vocab.json, or tokenizer.model)");
  write("merges.txt", "");
  EXPECT_TRUE(has_tokenizer(home_.path()));
  // encoder.json and vocab.bpe are the names of GPT-2's first release
  const testing::TemporaryFolder first;
  write_file_atomically(first / "encoder.json", R"({"a": 0, "b": 1, "ab": 2})");
  EXPECT_FALSE(has_tokenizer(first.path()));
  write_file_atomically(first / "vocab.bpe", "a b\n");
  EXPECT_EQ(Tokenizer::load(first.path())->encode_ids("abb"), (Ids{2, 1}));
}

// Return a tokenizer.json of words; the word number i has the id i, and the special token <x> the next.
std::string words_json(const std::vector<std::string>& words) {
  Json vocabulary = Json::object();
  for (const std::string& word : words) vocabulary[word] = vocabulary.size();
  const Json unknown = Json::array({words.at(0), 0});
  return Json{{"added_tokens", {{{"id", words.size()}, {"content", "<x>"}, {"special", true}}}},
              {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
              {"post_processor", {{"type", "BertProcessing"}, {"cls", unknown}, {"sep", unknown}}},
              {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", words.at(1)}}}}
      .dump();
}

// A second file has the vocabulary of the other language. A run folder has the target's in tokenizer.json.
TEST_F(TokenizerFiles, PairsOfVocabularies) {
  const auto ids = [&] {
    const TokenizerPair pair = load_tokenizer_pair(home_.path());
    return Ids{*pair.source->id_of("a"), *pair.target->id_of("a"), pair.source == pair.target ? 1 : 0};
  };
  write("tokenizer.json", words_json({"<s>", "?", "a"}));
  EXPECT_EQ(ids(), (Ids{2, 2, 1}));
  write("target_tokenizer.json", words_json({"<s>", "?", "b", "a"}));
  EXPECT_EQ(ids(), (Ids{2, 3, 0}));
  write("source_tokenizer.json", words_json({"<s>", "?", "b", "c", "a"}));
  EXPECT_EQ(ids(), (Ids{4, 2, 0}));
}

TEST_F(TokenizerFiles, WordsAreEncodedOneByOne) {
  write("tokenizer.json", words_json({"<s>", "?", "a", "b"}));
  const std::vector<std::string> words{"a b", "", "<x>", " b", "a"};
  const Encoding encoding = encode_words(*load(), std::span(words).first(4));
  EXPECT_EQ(encoding.ids, (Ids{2, 3, 1, 3})) << "a special token is text";
  EXPECT_EQ(encoding.words, (Ids{0, 0, 2, 3}));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
  for (const Offsets& one : encoding.offsets) places.emplace_back(one.begin, one.end);
  EXPECT_EQ(places, (decltype(places){{0, 1}, {2, 3}, {0, 3}, {1, 2}}));
}

}  // namespace
}  // namespace regard::text
