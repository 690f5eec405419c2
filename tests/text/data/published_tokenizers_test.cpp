// Published vocabularies compared with known ids.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/file.h"
#include "support/shared_data.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

std::filesystem::path folder() {
  return testing::shared_folder() / "data/tokenizers";
}

std::vector<std::int32_t> numbers(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; stream >> id;) ids.push_back(id);
  return ids;
}

TEST(PublishedTokenizers, Cl100kBase) {
  REGARD_NEEDS_SHARED();
  const auto tokenizer = Tokenizer::load(folder() / "cl100k/cl100k_base.tiktoken");
  const std::vector<std::int32_t> expected = {3923, 374, 279, 6864, 315, 9822, 30};
  EXPECT_EQ(tokenizer->encode_ids("What is the capital of France?"), expected);
  EXPECT_EQ(tokenizer->decode(expected), "What is the capital of France?");
  EXPECT_EQ(tokenizer->vocabulary_size(), 100277);
  EXPECT_EQ(tokenizer->encode_ids("<|endoftext|>"), std::vector<std::int32_t>{100257});
  EXPECT_GT(tokenizer->encode_ids("<|endoftext|>", {.match_special = false}).size(), 1u);
}

TEST(PublishedTokenizers, BertOnSquadQuestions) {
  REGARD_NEEDS_SHARED();
  const auto tokenizer = Tokenizer::load(folder() / "bert/bert-base-uncased-vocab.txt");
  std::ifstream lines(folder() / "bert/squad_questions.tsv");
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::size_t tab = line.rfind('\t');
    ASSERT_EQ(tokenizer->encode_ids(line.substr(0, tab), {.add_special = false}),
              numbers(line.substr(tab + 1)))
        << line;
  }
  EXPECT_EQ(count, 5285);
}

// Check the files of llama.cpp's vocabulary tests: texts between marker lines, and one line of ids for each
// text.
void check_ggml(const Tokenizer& tokenizer, const std::string& name, bool add_special) {
  const std::string inputs = read_file(folder() / "ggml" / (name + ".inp"));
  std::ifstream ids(folder() / "ggml" / (name + ".out"));
  const std::string marker = "\n__ggml_vocab_test__\n";
  int count = 0;
  for (std::size_t begin = 0; begin < inputs.size(); ++count) {
    const std::size_t end = std::min(inputs.find(marker, begin), inputs.size());
    const std::string text = inputs.substr(begin, end - begin);
    std::string line;
    ASSERT_TRUE(std::getline(ids, line)) << text;
    EXPECT_EQ(tokenizer.encode_ids(text, {.add_special = add_special}), numbers(line)) << text;
    begin = end + marker.size();
  }
  EXPECT_GE(count, 45);
}

TEST(PublishedTokenizers, Gpt2OnGgmlVectors) {
  REGARD_NEEDS_SHARED();
  check_ggml(*Tokenizer::load(folder() / "gpt2"), "ggml-vocab-gpt-2.gguf", false);
}

TEST(PublishedTokenizers, BertOnGgmlVectors) {
  REGARD_NEEDS_SHARED();
  check_ggml(*Tokenizer::load(folder() / "bert/bert-base-uncased-vocab.txt"), "ggml-vocab-bert-bge.gguf",
             false);
}

TEST(PublishedTokenizers, RobertaAndT5) {
  REGARD_NEEDS_SHARED();
  const auto roberta = Tokenizer::load(folder() / "hf/roberta-base-tokenizer.json");
  EXPECT_EQ(roberta->encode_ids("Hello world!"), (std::vector<std::int32_t>{0, 31414, 232, 328, 2}));
  const auto t5 = Tokenizer::load(folder() / "hf/t5-small-tokenizer.json");
  EXPECT_EQ(t5->encode_ids("translate English to German: The house is wonderful."),
            (std::vector<std::int32_t>{13959, 1566, 12, 2968, 10, 37, 629, 19, 1627, 5, 1}));
  EXPECT_EQ(t5->decode(t5->encode_ids("Das Haus ist wunderbar.")), "Das Haus ist wunderbar.");
}

}  // namespace
}  // namespace regard::text
