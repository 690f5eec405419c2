// GloVe: co-occurrence counts compared with direct counting for any memory limit, and training.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/random.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "vectors/similar.h"
#include "vectors/train_glove.h"

namespace regard::vectors {
namespace {

class Glove : public ::testing::Test {
 protected:
  Corpus corpus(int lines, std::size_t words, std::size_t length) {
    RandomStream random({5, 0, 0});
    std::vector<std::string> text;
    for (int line = 0; line < lines; ++line) {
      std::string sentence;
      for (std::size_t i = 0; i < length; ++i)
        sentence += (line % 2 == 0 ? "a" : "b") + std::to_string(random.next_below(words)) + " ";
      text.push_back(sentence + (line % 5 == 0 ? "both" : ""));
    }
    CorpusOptions options;
    options.min_count = 1;
    options.temporary = folder_.path();
    return read_corpus(text::lines_of(text), options);
  }
  GloveOptions small() const {
    GloveOptions options;
    options.size = 10;
    options.epochs = 20;
    options.counting.temporary = folder_.path();
    options.x_max = 10;
    return options;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Glove, CountsAreThoseByHandForAnyMemory) {
  const Corpus text = corpus(60, 9, 11);
  const auto ids = text.ids->records();
  for (const bool symmetric : {true, false}) {
    std::map<std::pair<std::int32_t, std::int32_t>, double> expected;
    for (std::size_t i = 0; i < ids.size(); ++i)
      for (std::size_t j = i; j > 0 && i - (j - 1) <= 4; --j) {
        if (ids[i] == kSentenceEnd || ids[j - 1] == kSentenceEnd) break;
        const double count = 1.0 / static_cast<double>(i - j + 1);
        expected[{ids[i], ids[j - 1]}] += count;
        if (symmetric) expected[{ids[j - 1], ids[i]}] += count;
      }
    for (const std::size_t records : {std::size_t{16}, std::size_t{100}, std::size_t{1} << 20}) {
      CooccurrenceOptions options;
      options.window = 4;
      options.symmetric = symmetric;
      options.records = records;
      options.temporary = folder_.path();
      const auto counted = count_cooccurrences(text, options);
      std::map<std::pair<std::int32_t, std::int32_t>, double> ours;
      for (const Cooccurrence& one : counted->records())
        EXPECT_TRUE(ours.try_emplace({one.word, one.context}, one.count).second) << "a pair comes twice";
      ASSERT_EQ(ours.size(), expected.size());
      for (const auto& [pair, count] : expected) EXPECT_NEAR(ours[pair], count, 1e-6 * count);
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Glove, PairsComeInRandomOrder) {
  const Corpus text = corpus(200, 30, 12);
  CooccurrenceOptions options;
  options.temporary = folder_.path();
  const auto counted = count_cooccurrences(text, options);
  std::int64_t rising = 0, all = 0;
  const auto records = counted->records();
  for (std::size_t i = 1; i < records.size(); ++i, ++all) rising += records[i].word >= records[i - 1].word;
  EXPECT_NEAR(static_cast<double>(rising) / static_cast<double>(all), 0.5, 0.1);
}

TEST_F(Glove, ManyPairsInLittleMemoryNeedFewFiles) {
  const Corpus text = corpus(400, 30, 12);
  CooccurrenceOptions options;
  options.temporary = folder_.path();
  const std::uint64_t pairs = count_cooccurrences(text, options)->size();
  options.records = 16;
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit few = limit;
  few.rlim_cur = std::min<rlim_t>(limit.rlim_cur, 400);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(count_cooccurrences(text, options)->size(), pairs);
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST_F(Glove, TheLossFallsAndWorldsPart) {
  const Corpus text = corpus(400, 6, 10);
  ThreadPool pool(1);
  const GloveResult result = train_glove(text, small(), pool);
  ASSERT_EQ(result.loss.size(), 20u);
  EXPECT_LT(result.loss.back(), 0.3 * result.loss.front());
  const WordVectors vectors(text.words, 10, result.values);
  EXPECT_GT(cosine(vectors.require("a1"), vectors.require("a2")),
            cosine(vectors.require("a1"), vectors.require("b2")) + 0.3);
  EXPECT_EQ(result.values, train_glove(text, small(), pool).values);
  ThreadPool several(3);
  EXPECT_LT(train_glove(text, small(), several).loss.back(), 0.3 * result.loss.front());
  GloveOptions wrong = small();
  wrong.epochs = 0;
  EXPECT_REGARD_ERROR(train_glove(text, wrong, pool), ErrorKind::usage, "epoch");
}

// AdaGrad on f(x) (w · c + b_w + b_c − log x)² / 2 in double, for one pair after another.
TEST_F(Glove, OneThreadTakesTheStepsOfItsDefinition) {
  const Corpus text = corpus(30, 5, 8);
  GloveOptions options = small();
  options.size = 5, options.epochs = 3, options.x_max = 4, options.alpha = 0.5, options.rate = 0.1;
  options.counting.window = 3;
  ThreadPool pool(1);
  const auto counted = count_cooccurrences(text, options.counting);
  const std::size_t words = text.words.size(), stride = 6;
  std::vector<double> values[2];
  RandomStream random({options.seed, 0, place_of("vectors.glove")});
  for (std::vector<double>& half : values)
    for (std::size_t i = 0; i < words * stride; ++i)
      half.push_back(static_cast<double>(random.next_uniform() - 0.5f) / 5.0);
  std::vector<double> squares[2]{std::vector<double>(words * stride, 1.0),
                                 std::vector<double>(words * stride, 1.0)};
  std::vector<double> losses;
  for (int epoch = 0; epoch < 3; ++epoch) {
    double loss = 0;
    for (const Cooccurrence& one : counted->records()) {
      const std::size_t at[2]{static_cast<std::size_t>(one.word) * stride,
                              static_cast<std::size_t>(one.context) * stride};
      const double count = static_cast<double>(one.count);
      double difference = values[0][at[0] + 5] + values[1][at[1] + 5] - std::log(count);
      for (std::size_t i = 0; i < 5; ++i) difference += values[0][at[0] + i] * values[1][at[1] + i];
      const double factor = (count < 4 ? std::sqrt(count / 4) : 1.0) * difference;
      loss += 0.5 * factor * difference;
      for (std::size_t i = 0; i < stride; ++i) {
        const double gradients[2]{factor * (i == 5 ? 1.0 : values[1][at[1] + i]),
                                  factor * (i == 5 ? 1.0 : values[0][at[0] + i])};
        for (int half = 0; half < 2; ++half) {
          double& square = squares[half][at[half] + i];
          values[half][at[half] + i] -= 0.1 * gradients[half] / std::sqrt(square);
          square += gradients[half] * gradients[half];
        }
      }
    }
    losses.push_back(loss / static_cast<double>(counted->records().size()));
  }
  const GloveResult result = train_glove(text, options, pool);
  EXPECT_EQ(result.pairs, counted->size());
  ASSERT_EQ(result.loss.size(), 3u);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) EXPECT_NEAR(result.loss[epoch], losses[epoch], 1e-5);
  ASSERT_EQ(result.values.size(), words * 5);
  for (std::size_t word = 0; word < words; ++word)
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(result.values[word * 5 + i], values[0][word * stride + i] + values[1][word * stride + i],
                  1e-4);
}

// One thread reports every task once. Tasks have 16384 pairs; stopping ends the epoch.
TEST_F(Glove, ProgressAndStops) {
  const Corpus text = corpus(3000, 100, 9);
  ThreadPool pool(1);
  GloveOptions options = small();
  options.epochs = 2;
  std::vector<TrainProgress> told;
  options.progress = [&](const TrainProgress& now) { told.push_back(now); };
  const GloveResult result = train_glove(text, options, pool);
  const std::size_t tasks = (result.pairs + 16383) / 16384;
  ASSERT_GT(tasks, 1u);
  ASSERT_EQ(told.size(), 2 * tasks);
  for (std::size_t i = 0; i < told.size(); ++i) {
    const double fraction = static_cast<double>(i + 1) / static_cast<double>(told.size());
    EXPECT_NEAR(told[i].fraction, fraction, 1e-12);
    EXPECT_NEAR(told[i].words, fraction * 2 * static_cast<double>(text.tokens_read), 1e-6);
    EXPECT_EQ(told[i].rate, options.rate);
    EXPECT_GT(told[i].words_per_second, 0);
  }
  EXPECT_GE(result.words_per_second, 0);
  EXPECT_LE(result.words_per_second, told.back().words_per_second);
  double first = 0;
  for (std::size_t i = 0; i < tasks; ++i) {
    const std::size_t pairs = std::min<std::size_t>(16384, result.pairs - i * 16384);
    first += told[i].loss * static_cast<double>(pairs) / static_cast<double>(result.pairs);
  }
  EXPECT_NEAR(result.loss[0], first, 1e-9);
  told.clear();
  options.stopped = [&] { return told.size() == 1; };
  EXPECT_EQ(train_glove(text, options, pool).loss.size(), 1u);
  EXPECT_EQ(told.size(), 2u);
  options.stopped = [] { return true; };
  EXPECT_TRUE(train_glove(text, options, pool).values.empty());
}

TEST_F(Glove, TheProgramWritesIt) {
  testing::write_file(folder_.path(), "t.txt", "a b c a b\na b c d\n");
  const auto done =
      testing::run_program({"vectors", "train", "t.txt", "-o", "v.txt", "--model", "glove", "--form", "glove",
                            "--size", "4", "--min-count", "1", "--memory", "1", "-q"},
                           folder_.path());
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const std::string content = testing::file_content(folder_ / "v.txt");
  EXPECT_TRUE(content.starts_with("a ")) << content;
  EXPECT_EQ(std::count(content.begin(), content.end(), '\n'), 4);
}

}  // namespace
}  // namespace regard::vectors
