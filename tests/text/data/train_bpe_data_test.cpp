// The byte-level trainer finds the same merges as Hugging Face's trainer on a real corpus.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "support/shared_data.h"
#include "text/train_bpe.h"
#include "text/train_word_piece.h"

namespace regard::text {
namespace {

TEST(TrainBpeData, Multi30kMergesEqualTheReference) {
  REGARD_NEEDS_SHARED();
  const auto shared = testing::shared_folder();
  BpeTrainingOptions options;
  options.vocabulary_size = 2000;
  options.words = WordRule::gpt2;
  options.normalize = false;
  options.special_tokens = {"<|endoftext|>"};
  ThreadPool pool(2);
  const auto tokenizer = train_bpe(lines_of_files({shared / "data/multi30k/train.en"}, true), options, &pool);
  const auto goldens = shared / "conformance/training";
  std::ifstream lines(goldens / "bpe-merges.txt");
  Json expected = Json::array();
  for (std::string left, right; lines >> left >> right;) expected.push_back({left, right});
  ASSERT_EQ(expected.size(), 1743u);
  const Json model = tokenizer->to_json().at("model");
  EXPECT_EQ(model.at("merges"), expected);
  const Json vocabulary = read_json((goldens / "bpe-vocab.json").string());
  for (const auto& [token, id] : vocabulary.items())
    EXPECT_EQ(tokenizer->id_of(token), id.get<std::int32_t>()) << token;
}

TEST(TrainWordPieceData, Multi30kVocabularyIsTheReferencesAsASet) {
  REGARD_NEEDS_SHARED();
  const auto shared = testing::shared_folder();
  WordPieceTrainingOptions options;
  options.vocabulary_size = 2000;
  options.lower_case = options.strip_accents = true;
  options.special_tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  options.unknown = "[UNK]";
  ThreadPool pool(2);
  const auto tokenizer =
      train_word_piece(lines_of_files({shared / "data/multi30k/train.en"}, false), options, &pool);
  std::ifstream lines(shared / "conformance/training/wordpiece-stable.txt");
  std::size_t stable = 0, missing = 0;
  for (std::string token; std::getline(lines, token); ++stable)
    if (!tokenizer->id_of(token)) ++missing;
  EXPECT_EQ(tokenizer->vocabulary_size(), 2000);
  EXPECT_EQ(stable, 2000u);
  EXPECT_EQ(missing, 0u);
}

TEST(TrainBpeData, JointVocabularyLosesNothing) {
  REGARD_NEEDS_SHARED();
  const auto folder = testing::shared_folder() / "data/multi30k";
  ThreadPool pool(2);
  BpeTrainingOptions options;
  options.prefix_space = true;
  options.end_token = true;
  const auto tokenizer =
      train_bpe(lines_of_files({folder / "train.en", folder / "train.de"}, false), options, &pool);
  EXPECT_EQ(tokenizer->vocabulary_size(), 10000);
  std::ifstream lines(folder / "val.de");
  for (std::string line; std::getline(lines, line);)
    ASSERT_EQ(tokenizer->decode(tokenizer->encode_ids(line)), line);
}

}  // namespace
}  // namespace regard::text
