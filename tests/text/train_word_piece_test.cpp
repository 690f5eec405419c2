// WordPiece: the vocabulary has the same pieces as the vocabulary of the reference trainer, and texts are
// encoded correctly.
#include "text/train_word_piece.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "support/shared_data.h"

namespace regard::text {
namespace {

LineSource corpus() {
  return lines_of_files({testing::golden("tokenizer-training/corpus.txt")}, false);
}

std::set<std::string> tokens_of(const Tokenizer& tokenizer) {
  std::set<std::string> tokens;
  for (std::int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) tokens.insert(tokenizer.token_of(id));
  return tokens;
}

TEST(TrainWordPiece, VocabularyIsTheReferencesAsASet) {
  std::size_t seen = 0;
  for (const Json& entry : read_json(testing::golden("tokenizer-training/trained.json").string())) {
    if (entry.at("type") != "wordpiece") continue;
    ++seen;
    WordPieceTrainingOptions options;
    options.vocabulary_size = entry.at("vocab_size").get<std::size_t>();
    options.min_frequency = entry.at("min_frequency").get<std::int64_t>();
    options.lower_case = options.strip_accents = entry.at("lower_case").get<bool>();
    options.alphabet.max_characters = entry.at("limit_alphabet").get<std::size_t>();
    options.alphabet.always = "zЖ";
    EXPECT_EQ(tokens_of(*train_word_piece(corpus(), options)),
              entry.at("tokens").get<std::set<std::string>>());
  }
  EXPECT_EQ(seen, 3u);
}

TEST(TrainWordPiece, WordsAreCutIntoPiecesThatComeBack) {
  const std::vector<std::string> lines(4, "sing singing sang! sings sing.");
  WordPieceTrainingOptions options;
  options.vocabulary_size = 40;
  options.special_tokens = {"[PAD]", "[UNK]", "</s>"};
  options.unknown = "[UNK]";
  options.end_token = true;
  const auto tokenizer = train_word_piece(lines_of(lines), options);
  const Encoding encoding = tokenizer->encode("singings, sang? ☃");
  EXPECT_EQ(encoding.tokens,
            (std::vector<std::string>{"singing", "##s", "[UNK]", "sang", "[UNK]", "[UNK]", "</s>"}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode_ids("sang singing!")), "sang singing!");
}

TEST(TrainWordPiece, ThreadsAndOrderOfLinesChangeNothing) {
  std::vector<std::string> lines;
  std::string line;
  for (const LineSource source = corpus(); source(line);) lines.push_back(line);
  ThreadPool three(3);
  WordPieceTrainingOptions options;
  options.vocabulary_size = 600;
  const Json expected = train_word_piece(lines_of(lines), options)->to_json();
  EXPECT_EQ(train_word_piece(lines_of(lines), options, &three)->to_json(), expected);
  std::reverse(lines.begin(), lines.end());
  EXPECT_EQ(train_word_piece(lines_of(lines), options, &three)->to_json(), expected);
}

TEST(TrainWordPiece, AVocabularySmallerThanItsAlphabetIsRefused) {
  WordPieceTrainingOptions options;
  options.vocabulary_size = 50;
  EXPECT_THROW(train_word_piece(corpus(), options), Error);
}

}  // namespace
}  // namespace regard::text
