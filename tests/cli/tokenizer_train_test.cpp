// regard tokenizer train, called as by a user: every type, unusual input, unreachable sizes, interruption.
#include <gtest/gtest.h>

#include <csignal>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"

namespace regard::testing {
namespace {

using testing::file_content;
using testing::run_program;
using testing::write_file;

class TokenizerTrain : public ::testing::Test {
 protected:
  testing::ProgramResult train(std::vector<std::string> options, const std::string& file = "corpus.txt") {
    options.insert(options.begin(), {"tokenizer", "train", "-o", "out.json"});
    options.push_back(file);
    return run_program(options, folder_.path());
  }
  Json written() const { return read_json((folder_.path() / "out.json").string()); }

  testing::TemporaryFolder folder_;
  std::string corpus_ = file_content(testing::golden("tokenizer-training/corpus.txt"));
  std::filesystem::path file_ = write_file(folder_.path(), "corpus.txt", corpus_);
};

TEST_F(TokenizerTrain, EveryTypeIsTheSameForAnyNumberOfThreadsAndOpensAgain) {
  for (const std::string type : {"byte-bpe", "bpe", "wordpiece", "unigram", "word", "char"}) {
    SCOPED_TRACE(type);
    const auto one = train({"--type", type, "--vocab-size", "600", "-t", "1", "--json"});
    ASSERT_EQ(one.exit_code, 0) << one.err;
    const Json first = written();
    EXPECT_EQ(Json::parse(one.out).at("skipped_lines"), 0);
    ASSERT_EQ(train({"--type", type, "--vocab-size", "600", "-t", "3"}).exit_code, 0);
    EXPECT_EQ(written(), first);
    EXPECT_EQ(text::Tokenizer::load(folder_.path() / "out.json")->to_json(), first);
  }
}

TEST_F(TokenizerTrain, BadUtf8IsRefusedOrCountedWithItsPlace) {
  write_file(folder_.path(), "bad.txt", "fine\nnot \xE0\xA4 fine\nfine\nnot \xFF\n");
  const auto refused = train({"--vocab-size", "300"}, "bad.txt");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("bad.txt:2"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.json"));
  const auto skipped = train({"--vocab-size", "300", "--bad-utf8", "skip"}, "bad.txt");
  EXPECT_EQ(skipped.exit_code, 0);
  EXPECT_NE(skipped.err.find("bad.txt:2: the line is not UTF-8; 2 such lines were skipped"),
            std::string::npos)
      << skipped.err;
}

TEST_F(TokenizerTrain, SpecialTokensKeepTheirBrackets) {
  ASSERT_EQ(train({"--vocab-size", "300", "--special", "[PAD]", "[UNK]", "--special", "[a,b]"}).exit_code, 0);
  const Json tokens = written().at("added_tokens");
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0].at("content"), "[PAD]");
  EXPECT_EQ(tokens[1].at("content"), "[UNK]");
  EXPECT_EQ(tokens[2].at("content"), "[a,b]");
}

TEST_F(TokenizerTrain, SizesOutOfReachAreSaid) {
  const auto small = train({"--type", "unigram", "--vocab-size", "100"});
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_NE(small.err.find("at least"), std::string::npos) << small.err;
  const auto large = train({"--vocab-size", "100000"});
  EXPECT_EQ(large.exit_code, 0);
  EXPECT_NE(large.err.find("of 100000 requested"), std::string::npos) << large.err;
}

TEST_F(TokenizerTrain, EmptyFilesGiveTheAlphabetAndLongLinesAreLines) {
  write_file(folder_.path(), "empty.txt", "");
  for (const std::string type : {"byte-bpe", "bpe", "wordpiece", "unigram", "word", "char"})
    EXPECT_EQ(train({"--type", type, "--vocab-size", "600"}, "empty.txt").exit_code, 0) << type;
  std::string line;
  while (line.size() < 10'000'000) line += corpus_;
  for (char& c : line)
    if (c == '\n') c = ' ';
  write_file(folder_.path(), "line.txt", line);
  EXPECT_EQ(train({"--vocab-size", "600"}, "line.txt").exit_code, 0);
  write_file(folder_.path(), "word.txt", std::string(10'000'000, 'a'));
  EXPECT_EQ(train({"--vocab-size", "300"}, "word.txt").exit_code, 0);
  EXPECT_EQ(text::Tokenizer::load(folder_.path() / "out.json")->encode_ids(std::string(1 << 20, 'a')).size(),
            1u);
}

TEST_F(TokenizerTrain, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_EQ(train({"--type", "bpe", "--words", "bert"}).exit_code, 2);
  EXPECT_EQ(train({"--type", "sentence"}).exit_code, 2);
  EXPECT_EQ(train({"--character-coverage", "1.5", "--type", "bpe"}).exit_code, 2);
  EXPECT_EQ(train({"--end-token", "--special", "<unk>"}).exit_code, 2);
  EXPECT_EQ(train({}, "missing.txt").exit_code, 4);
}

TEST_F(TokenizerTrain, OptionsWithoutEffectOnTheTypeAreRefused) {
  const std::vector<std::string> refused[] = {{"--continuing-prefix", "@@", "--type", "byte-bpe"},
                                              {"--strip-accents", "--type", "bpe"},
                                              {"--min-frequency", "3", "--type", "unigram"},
                                              {"--max-piece-length", "9", "--type", "wordpiece"},
                                              {"--initial-alphabet", "x", "--type", "byte-bpe"},
                                              {"--character-coverage", "0.9", "--type", "word"},
                                              {"--unknown", "<u>", "--type", "bpe"},
                                              {"--words", "words", "--type", "char"},
                                              {"--prefix-space", "--type", "wordpiece"},
                                              {"--no-byte-fallback", "--type", "bpe"}};
  for (const std::vector<std::string>& options : refused) {
    const auto result = train(options);
    EXPECT_EQ(result.exit_code, 2) << options[0];
    EXPECT_NE(result.err.find(options[0] + " has no effect"), std::string::npos) << result.err;
  }
  EXPECT_EQ(train({"--type", "wordpiece", "--continuing-prefix", "@@", "--strip-accents"}).exit_code, 0);
}

TEST_F(TokenizerTrain, AnInterruptedRunLeavesNoFile) {
  std::string longer;
  for (int i = 0; i < 400; ++i) longer += corpus_;
  write_file(folder_.path(), "long.txt", longer);
  bool interrupted = false;
  const auto result =
      testing::run_interrupted({"tokenizer", "train", "-o", "out.json", "--type", "unigram", "long.txt"},
                               folder_.path(), {SIGTERM, std::chrono::milliseconds(60)}, "", &interrupted);
  if (interrupted) {
    EXPECT_EQ(result.exit_code, 128 + SIGTERM);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.json"));
  } else {
    EXPECT_EQ(result.exit_code, 0);
  }
}

}  // namespace
}  // namespace regard::testing
