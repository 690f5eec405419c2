// Training on one thread always gives the same bits, vectors reflect the training text, and saved files
// reload unchanged.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "base/random.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "vectors/save.h"
#include "vectors/similar.h"
#include "vectors/train_pairs.h"

namespace regard::vectors {
namespace {

// Return a corpus with two groups of words; each sentence uses the words of one group.
std::vector<std::string> two_worlds(int lines) {
  const std::vector<std::string> money{"money", "loan", "interest", "cash", "account", "credit"};
  const std::vector<std::string> water{"river", "shore", "water", "mud", "stream", "fish"};
  RandomStream random({11, 0, 0});
  std::vector<std::string> text;
  for (int line = 0; line < lines; ++line) {
    const auto& world = line % 2 == 0 ? money : water;
    std::string sentence;
    for (int i = 0; i < 8; ++i) sentence += world[random.next_below(world.size())] + " ";
    text.push_back(sentence);
  }
  return text;
}

class Training : public ::testing::Test {
 protected:
  Corpus corpus(int lines = 600) {
    CorpusOptions options;
    options.temporary = folder_.path();
    const auto text = two_worlds(lines);
    return read_corpus(text::lines_of(text), options);
  }
  static PairOptions small() {
    PairOptions options;
    options.size = 12;
    options.epochs = 5;
    options.sample = 0;
    options.rate = 0.05;
    return options;
  }
  // Return the mean cosine within a group minus the mean cosine between the groups.
  static double apart(const Corpus& corpus, const std::vector<float>& values, std::size_t size) {
    const WordVectors vectors(corpus.words, static_cast<std::int64_t>(size), values);
    double same = 0, other = 0;
    for (const char* word : {"loan", "cash", "account"}) {
      same += cosine(vectors.require("money"), vectors.require(word)) / 3;
      other += cosine(vectors.require("river"), vectors.require(word)) / 3;
    }
    return same - other;
  }
  testing::TemporaryFolder folder_;
};

// Sentences of one kind are followed by sentences of another kind, as in concatenated corpora. The vector of
// a word that occurs in both must not always be nearest to the kind that comes last.
TEST_F(Training, TheFilesEndDoesNotAlwaysWin) {
  RandomStream random({7, 0, 0});
  std::vector<std::string> text;
  for (const char kind : {'x', 'y'})
    for (int line = 0; line < 10000; ++line) {
      const auto word = [&] { return std::string(1, kind) + std::to_string(random.next_below(20)); };
      text.push_back(word() + " both " + word() + " " + word());
    }
  CorpusOptions reading;
  reading.temporary = folder_.path();
  const Corpus corpus = read_corpus(text::lines_of(text), reading);
  ThreadPool pool(1);
  int last = 0;
  constexpr int kSeeds = 6;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    PairOptions options = small();
    options.seed = static_cast<std::uint64_t>(seed);
    options.epochs = 1;
    const WordVectors vectors(corpus.words, options.size,
                              vectors_of(train_pairs(corpus, options, pool), corpus));
    double nearer = 0;
    for (int i = 0; i < 20; ++i)
      nearer += cosine(vectors.require("both"), vectors.require("y" + std::to_string(i))) -
                cosine(vectors.require("both"), vectors.require("x" + std::to_string(i)));
    last += nearer > 0;
  }
  EXPECT_GE(last, 1);
  EXPECT_LT(last, kSeeds);
}

TEST_F(Training, EveryWayOfTrainingTellsTheWorldsApart) {
  const Corpus text = corpus();
  ThreadPool pool(1);
  for (const bool cbow : {false, true})
    for (const bool hierarchical : {false, true})
      for (const std::int64_t buckets : {0, 500}) {
        SCOPED_TRACE(std::string(cbow ? "cbow" : "skip-gram") + (hierarchical ? ", hierarchical" : "") +
                     (buckets > 0 ? ", subwords" : ""));
        PairOptions options = small();
        options.cbow = cbow;
        options.hierarchical = hierarchical;
        options.subwords.buckets = buckets;
        if (cbow) options.epochs = 15;
        const PairModel model = train_pairs(text, options, pool);
        EXPECT_GT(apart(text, vectors_of(model, text), 12), 0.5);
      }
}

TEST_F(Training, OneThreadGivesTheSameBitsAndSeedsOthers) {
  const Corpus text = corpus(200), again = corpus(200);
  ThreadPool pool(1);
  const auto train = [&](const Corpus& from, std::uint64_t seed) {
    PairOptions options = small();
    options.seed = seed;
    options.epochs = 1;
    return vectors_of(train_pairs(from, options, pool), from);
  };
  const auto first = train(text, 1);
  EXPECT_EQ(first, train(again, 1));
  EXPECT_NE(first, train(text, 2));
}

TEST_F(Training, SeveralThreadsLearnAsMuch) {
  const Corpus text = corpus(4000);
  ThreadPool pool(3);
  PairOptions options = small();
  options.epochs = 2;
  EXPECT_GT(apart(text, vectors_of(train_pairs(text, options, pool), text), 12), 0.5);
}

TEST_F(Training, TheLossFallsAndProgressIsTold) {
  const Corpus text = corpus(3000);
  ThreadPool pool(1);
  PairOptions options = small();
  options.rate = 0.0008;  // a small rate, so that the first chunk of words changes the vectors little
  std::vector<TrainProgress> told;
  options.progress = [&](const TrainProgress& now) { told.push_back(now); };
  const auto begin = std::chrono::steady_clock::now();
  const double rate = train_pairs(text, options, pool).words_per_second;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  ASSERT_GT(told.size(), 5u);
  // train_pairs() measures its time after the last progress report and before it returns. The number of words
  // is the same, so words_per_second lies between the rates at these two times.
  EXPECT_GE(rate * (1.0 + 1e-9), told.back().words / taken.count());
  EXPECT_LE(rate, told.back().words_per_second * (1.0 + 1e-9));
  EXPECT_LE(told.back().words / told.back().words_per_second, taken.count());
  EXPECT_GT(told.back().words / told.back().words_per_second, 1e-6);
  EXPECT_NEAR(told.back().fraction, 1.0, 1e-9);
  EXPECT_NEAR(told.back().words, 5.0 * static_cast<double>(text.tokens_read), 1.0);
  EXPECT_NEAR(told.front().rate, 0.0008, 1e-9);
  EXPECT_LT(told.back().rate, 0.0005);
  EXPECT_NEAR(told.front().loss, std::log(2.0), 0.1);  // output vectors start at zero
  EXPECT_LT(told.back().loss, told.front().loss - 0.1);
  options.rate = 1e-6;  // below the default of min_rate
  train_pairs(text, options, pool);
  EXPECT_NEAR(told.back().rate, 1e-6, 1e-12);
  int calls = 0;
  options.stopped = [&] { return ++calls == 2; };
  told.clear();
  train_pairs(text, options, pool);
  EXPECT_LE(told.size(), 2u);
}

TEST_F(Training, WrongOptionsAreRefused) {
  const Corpus text = corpus(50);
  ThreadPool pool(1);
  const auto refuses = [&](auto change, const char* part) {
    PairOptions options = small();
    change(options);
    EXPECT_REGARD_ERROR(train_pairs(text, options, pool), ErrorKind::usage, part);
  };
  refuses([](PairOptions& o) { o.size = 0; }, "size");
  refuses([](PairOptions& o) { o.window = 0; }, "window");
  refuses([](PairOptions& o) { o.negative = 64; }, "negative");
  refuses([](PairOptions& o) { o.epochs = 0; }, "epoch");
  refuses([](PairOptions& o) { o.subwords = {4, 3, 10}; }, "n-gram");
  PairOptions wild = small();
  wild.rate = 1e30;
  EXPECT_REGARD_ERROR(train_pairs(text, wild, pool), ErrorKind::numeric, "diverged");
}

TEST_F(Training, EveryFormComesBackBitForBit) {
  const std::vector<std::string> words{"the", "caf\xc3\xa9", "\xff"};
  const std::vector<float> values{0.1f, -3.4028235e38f, 1e-42f, 1.0f / 3.0f, 5e8f, -0.0f};
  ThreadPool pool(1);
  for (const Format format : {Format::word2vec_text, Format::word2vec_binary, Format::glove}) {
    save_vectors(folder_ / "v", format, words, 2, values);
    const auto vectors = WordVectors::load(folder_ / "v", pool);
    EXPECT_EQ(vectors.format(), format);
    ASSERT_EQ(vectors.count(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      float row[2];
      vectors.copy(i, row);
      EXPECT_EQ(vectors.word(i), words[i]);
      EXPECT_EQ(row[0], values[2 * i]);
      EXPECT_EQ(row[1], values[2 * i + 1]);
    }
  }
  const std::vector<std::string> blank{"new york"};
  EXPECT_REGARD_ERROR(save_vectors(folder_ / "w", Format::word2vec_text, blank, 1, std::vector<float>{1}),
                      ErrorKind::usage, "new york");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "w"));
}

TEST_F(Training, OptionsWithoutEffectAreRefused) {
  testing::write_file(folder_.path(), "text.txt", "a b a b a b\na b a b a b\n");
  const std::pair<std::vector<std::string>, int> cases[] = {
      {{"--epochs", "0"}, 2},
      {{"--rate", "0"}, 2},
      {{"--window", "0"}, 2},
      {{"--min-n", "2"}, 2},
      {{"--min-n", "2", "--subwords", "--buckets", "100"}, 0},
      {{"--x-max", "3"}, 2},
      {{"--x-max", "3", "--model", "glove"}, 0},
      {{"--sample", "0.1", "--model", "glove"}, 2},
      {{"--negative", "3"}, 0},
      {{"--negative", "3", "--loss", "hierarchical"}, 2},
      {{"--phrase-threshold", "9"}, 2},
      {{"--phrase-threshold", "9", "--phrases", "1"}, 0}};
  for (const auto& [options, code] : cases) {
    std::vector<std::string> call{"vectors", "train", "text.txt", "-o", "v.txt", "--size", "4", "-q"};
    call.insert(call.end(), options.begin(), options.end());
    const testing::ProgramResult result = testing::run_program(call, folder_.path());
    EXPECT_EQ(result.exit_code, code) << options[0] << options.size() << "\n" << result.err;
    EXPECT_TRUE(code == 0 || result.err.find(options[0]) != std::string::npos) << result.err;
  }
}

TEST_F(Training, TheProgramTrains) {
  std::string text;
  for (const std::string& line : two_worlds(300)) text += line + "\n";
  testing::write_file(folder_.path(), "text.txt", text);
  const std::vector<std::string> call{"vectors", "train", "text.txt", "-o", "v.txt",
                                      "--size",  "8",     "-t",       "1",  "--quiet"};
  ASSERT_EQ(testing::run_program(call, folder_.path()).exit_code, 0);
  const std::string first = testing::file_content(folder_ / "v.txt");
  EXPECT_TRUE(first.starts_with("12 8\n")) << first.substr(0, 40);
  ASSERT_EQ(testing::run_program(call, folder_.path()).exit_code, 0);
  EXPECT_EQ(testing::file_content(folder_ / "v.txt"), first);
  const auto missing =
      testing::run_program({"vectors", "train", "nowhere.txt", "-o", "v.txt"}, folder_.path());
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_EQ(testing::file_content(folder_ / "v.txt"), first);
  EXPECT_EQ(
      testing::run_program({"vectors", "train", "text.txt", "-o", "no/v.txt"}, folder_.path()).exit_code, 4);
}

}  // namespace
}  // namespace regard::vectors
