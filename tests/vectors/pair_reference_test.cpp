// Every way of training word vectors takes the steps of its definition: the vectors of one thread equal those
// of a plain implementation in double that reads the same random numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "base/random.h"
#include "kernels/pair_step.h"
#include "support/temporary_folder.h"
#include "vectors/sampling.h"
#include "vectors/train_pairs.h"

namespace regard::vectors {
namespace {

using Row = std::vector<double>;

// Trains on a corpus of one chunk, sentence after sentence.
class PlainTraining {
 public:
  PlainTraining(const Corpus& corpus, const PairOptions& options)
      : corpus_(corpus),
        options_(options),
        keep_(keep_probabilities(corpus.counts, options.sample)),
        negatives_(negative_table(corpus.counts)),
        tree_(options.hierarchical ? corpus.counts : std::vector<std::int64_t>()) {
    const std::size_t size = static_cast<std::size_t>(options.size), words = corpus.words.size();
    RandomStream random({options.seed, 0, place_of("vectors.initial")});
    input_.resize(words + static_cast<std::size_t>(options.subwords.buckets), Row(size));
    for (Row& row : input_)
      for (double& value : row)
        value = (2.0 * static_cast<double>(random.next_uniform()) - 1.0) / static_cast<double>(size);
    output_.resize(words, Row(size, 0.0));
  }

  void run() {
    for (std::int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
      rate_ = options_.rate - (options_.rate - options_.min_rate) * static_cast<double>(epoch) /
                                  static_cast<double>(options_.epochs);
      RandomStream random(
          {options_.seed, static_cast<std::uint64_t>(epoch) << 40, place_of("vectors.train")});
      std::vector<std::int32_t> sentence;
      for (const std::int32_t id : corpus_.ids->records()) {
        if (id == kSentenceEnd) {
          train(sentence, random);
          sentence.clear();
          continue;
        }
        const float keep = keep_[static_cast<std::size_t>(id)];
        if (keep >= 1.0f || random.next_uniform() < keep) sentence.push_back(id);
      }
    }
  }

  // Return a word's vector: the mean of its row and the rows of its n-grams.
  Row vector_of(std::int32_t word) const { return mean_of(rows_of(word)); }

 private:
  struct Output {
    std::size_t row;
    double label;
  };

  std::vector<std::size_t> rows_of(std::int32_t word) const {
    std::vector<std::size_t> rows{static_cast<std::size_t>(word)};
    std::vector<std::int64_t> buckets;
    options_.subwords.buckets_of(corpus_.words[rows[0]], buckets);
    for (const std::int64_t bucket : buckets)
      rows.push_back(corpus_.words.size() + static_cast<std::size_t>(bucket));
    return rows;
  }
  Row mean_of(const std::vector<std::size_t>& rows) const {
    Row mean(static_cast<std::size_t>(options_.size), 0.0);
    for (const std::size_t row : rows)
      for (std::size_t i = 0; i < mean.size(); ++i)
        mean[i] += input_[row][i] / static_cast<double>(rows.size());
    return mean;
  }
  std::vector<Output> outputs_of(std::int32_t target, RandomStream& random) const {
    std::vector<Output> outputs;
    if (options_.hierarchical) {
      const auto word = static_cast<std::size_t>(target);
      for (std::size_t at = tree_.begin[word]; at != tree_.begin[word + 1]; ++at)
        outputs.push_back({static_cast<std::size_t>(tree_.node[at]), static_cast<double>(tree_.label[at])});
      return outputs;
    }
    outputs.push_back({static_cast<std::size_t>(target), 1.0});
    for (int draw = 0; draw < options_.negative; ++draw)
      if (const std::int32_t other = negatives_.draw(random); other != target)
        outputs.push_back({static_cast<std::size_t>(other), 0.0});
    return outputs;
  }
  // Take one gradient step for all pairs of an input and an output, from the values before the step.
  void step(const std::vector<Row*>& inputs, const std::vector<Output>& outputs) {
    if (std::ssize(outputs) > kernels::kMaxOutputs) {  // the kernel takes at most this number at a time
      const auto middle = outputs.begin() + kernels::kMaxOutputs;
      step(inputs, {outputs.begin(), middle});
      return step(inputs, {middle, outputs.end()});
    }
    std::vector<Row> to_inputs(inputs.size(), Row(inputs[0]->size(), 0.0)),
        to_outputs(outputs.size(), to_inputs[0]);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const Row &x = *inputs[i], &y = output_[outputs[o].row];
        double score = 0;
        for (std::size_t at = 0; at < x.size(); ++at) score += x[at] * y[at];
        const double factor = (outputs[o].label - 1.0 / (1.0 + std::exp(-score))) * rate_;
        for (std::size_t at = 0; at < x.size(); ++at)
          to_inputs[i][at] += factor * y[at], to_outputs[o][at] += factor * x[at];
      }
    for (std::size_t i = 0; i < inputs.size(); ++i)
      for (std::size_t at = 0; at < to_inputs[i].size(); ++at) (*inputs[i])[at] += to_inputs[i][at];
    for (std::size_t o = 0; o < outputs.size(); ++o)
      for (std::size_t at = 0; at < to_outputs[o].size(); ++at)
        output_[outputs[o].row][at] += to_outputs[o][at];
  }
  // Train with the mean of rows as the only input. The change of the mean is added to each row.
  void step_of_mean(const std::vector<std::size_t>& rows, const std::vector<std::vector<Output>>& targets) {
    const Row before = mean_of(rows);
    Row mean = before;
    for (const std::vector<Output>& outputs : targets) step({&mean}, outputs);
    for (const std::size_t row : rows)
      for (std::size_t i = 0; i < mean.size(); ++i) input_[row][i] += mean[i] - before[i];
  }
  void train(const std::vector<std::int32_t>& words, RandomStream& random) {
    const std::int64_t length = std::ssize(words);
    if (length < 2) return;
    for (std::int64_t centre = 0; centre < length; ++centre) {
      const std::int64_t reach =
          1 + static_cast<std::int64_t>(
                  std::uint64_t{random.next()} * static_cast<std::uint64_t>(options_.window) >> 32);
      std::vector<std::int32_t> context;
      for (std::int64_t at = centre - reach; at <= centre + reach; ++at)
        if (at >= 0 && at < length && at != centre) context.push_back(words[static_cast<std::size_t>(at)]);
      train_window(words[static_cast<std::size_t>(centre)], context, random);
    }
  }
  void train_window(std::int32_t centre, const std::vector<std::int32_t>& context, RandomStream& random) {
    if (!options_.cbow && options_.subwords.buckets > 0) {
      std::vector<std::vector<Output>> targets;
      for (const std::int32_t word : context) targets.push_back(outputs_of(word, random));
      return step_of_mean(rows_of(centre), targets);
    }
    const std::vector<Output> outputs = outputs_of(centre, random);
    if (options_.cbow) {
      std::vector<std::size_t> rows;
      for (const std::int32_t word : context)
        for (const std::size_t row : rows_of(word)) rows.push_back(row);
      return step_of_mean(rows, {outputs});
    }
    std::vector<Row*> inputs;  // the kernel takes at most kMaxInputs rows at a time
    for (const std::int32_t word : context) {
      inputs.push_back(&input_[static_cast<std::size_t>(word)]);
      if (std::ssize(inputs) < kernels::kMaxInputs) continue;
      step(inputs, outputs);
      inputs.clear();
    }
    if (!inputs.empty()) step(inputs, outputs);
  }

  const Corpus& corpus_;
  const PairOptions& options_;
  std::vector<float> keep_;
  AliasTable negatives_;
  HuffmanTree tree_;
  std::vector<Row> input_, output_;
  double rate_ = 0;
};

class PairReference : public ::testing::Test {
 protected:
  Corpus corpus(int sentences, std::size_t longest) {
    RandomStream random({21, 0, 0});
    std::vector<std::string> text;
    for (int i = 0; i < sentences; ++i) {
      std::string line;
      for (std::size_t word = 1 + random.next_below(longest); word > 0; --word)
        line += "w" + std::to_string(random.next_below(1 + random.next_below(12))) + " ";
      text.push_back(line);
    }
    CorpusOptions options;
    options.min_count = 1;
    options.temporary = folder_.path();
    return read_corpus(text::lines_of(text), options);
  }
  static void expect_plain_vectors(const Corpus& corpus, const PairOptions& options) {
    ThreadPool pool(1);
    const std::vector<float> values = vectors_of(train_pairs(corpus, options, pool), corpus);
    PlainTraining plain(corpus, options);
    plain.run();
    const auto size = static_cast<std::size_t>(options.size);
    ASSERT_EQ(values.size(), corpus.words.size() * size);
    for (std::size_t word = 0; word < corpus.words.size(); ++word) {
      const Row expected = plain.vector_of(static_cast<std::int32_t>(word));
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_NEAR(values[word * size + i], expected[i], 1e-4) << corpus.words[word] << " " << i;
    }
  }
  testing::TemporaryFolder folder_;
};

TEST_F(PairReference, IsWhatEveryWayOfTrainingComputes) {
  const Corpus text = corpus(40, 9);
  for (const bool cbow : {false, true})
    for (const bool hierarchical : {false, true})
      for (const std::int64_t buckets : {0, 30})
        for (const double sample : {0.0, 0.05}) {
          SCOPED_TRACE(std::string(cbow ? "cbow" : "skip-gram") + (hierarchical ? ", hierarchical" : "") +
                       (buckets > 0 ? ", subwords" : "") + (sample > 0 ? ", subsampling" : ""));
          PairOptions options;
          options.size = 7, options.window = 3, options.negative = 4, options.epochs = 2;
          options.rate = 0.2, options.seed = 3;
          options.cbow = cbow, options.hierarchical = hierarchical, options.sample = sample;
          options.subwords = {1, 3, buckets};
          expect_plain_vectors(text, options);
        }
}

// A window of 80 words has more inputs than the kernel takes at a time.
TEST_F(PairReference, IsWhatLongWindowsCompute) {
  PairOptions options;
  options.size = 5, options.window = 40, options.epochs = 1, options.sample = 0, options.rate = 0.01;
  expect_plain_vectors(corpus(4, 100), options);
  options.window = 1;
  expect_plain_vectors(corpus(4, 100), options);
}

// If the counts grow like Fibonacci numbers, the path to the rarest word has a node for each other word.
// These are more outputs than the kernel takes at a time.
TEST_F(PairReference, IsWhatDeepTreesCompute) {
  std::string line;
  for (int i = 0; i < 70; ++i) line += "w" + std::to_string(i * 29 % 70) + " ";
  CorpusOptions reading;
  reading.min_count = 1, reading.temporary = folder_.path();
  Corpus text = read_corpus(text::lines_of(std::vector<std::string>(4, line)), reading);
  std::int64_t count = 1, next = 1;
  for (auto at = text.counts.rbegin(); at != text.counts.rend(); ++at) {
    *at = count;
    count = std::exchange(next, count + next);
  }
  for (const bool cbow : {false, true}) {
    PairOptions options;
    options.size = 5, options.window = 4, options.epochs = 2, options.sample = 0, options.rate = 0.2;
    options.hierarchical = true, options.cbow = cbow;
    expect_plain_vectors(text, options);
  }
}

}  // namespace
}  // namespace regard::vectors
