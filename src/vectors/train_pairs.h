// Word vectors from a word and its company, by negative sampling or hierarchical softmax: skip-gram and CBOW
// (Mikolov et al. 2013, as word2vec's code has them), and both with n-grams (Bojanowski et al. 2017, as
// fastText has them).
//
// All pairs of a window share its negative samples, so that a window is one small matrix product (Ji et al.
// 2016, "Parallelizing word2vec in shared and distributed memory"). Each epoch goes through stretches of the
// corpus in an order of its own. Draws depend on seed, epoch and place in the corpus only. One thread gives
// the same bits each time; several write to the same matrices without locks (Recht et al. 2011) and give
// slightly different vectors each time.
#pragma once

#include <cstdint>
#include <functional>

#include "base/thread_pool.h"
#include "vectors/corpus.h"
#include "vectors/word_vectors.h"

namespace regard::vectors {

struct TrainProgress {
  double fraction = 0;  // of all epochs
  double rate = 0;      // the learning rate now
  double loss = 0;      // mean over the pairs looked at lately, in nats
  double words = 0;     // of the corpus, done so far over all epochs
  double words_per_second = 0;
};

struct PairOptions {
  bool cbow = false;
  bool hierarchical = false;  // hierarchical softmax instead of negative sampling
  std::int64_t size = 100;
  int window = 5;                        // words on each side; each window draws 1 to this many
  int negative = 5;                      // samples a word
  double sample = 1e-3;                  // subsampling of common words; 0: none
  double rate = 0.025, min_rate = 1e-4;  // falls linearly
  std::int64_t epochs = 5;
  Subwords subwords{3, 6, 0};
  std::uint64_t seed = 1;
  std::function<void(const TrainProgress&)> progress;  // called now and then, by one thread at a time
  std::function<bool()> stopped;                       // true ends the training early
};

// What was learnt. Rows lie `stride` numbers apart.
struct PairModel {
  std::int64_t size = 0, stride = 0;
  std::int64_t words = 0, outputs = 0;
  Subwords subwords;
  std::unique_ptr<float, void (*)(void*)> input{nullptr, nullptr};   // [words + buckets, stride]
  std::unique_ptr<float, void (*)(void*)> output{nullptr, nullptr};  // [outputs, stride]
  double words_per_second = 0;                                       // of the corpus

  float* input_row(std::int64_t row) const { return input.get() + row * stride; }
  float* output_row(std::int64_t row) const { return output.get() + row * stride; }
};

// Throws usage where options do not fit together.
PairModel train_pairs(const Corpus& corpus, const PairOptions& options, ThreadPool& pool);

// The words' vectors; with n-grams the mean of a word's row and theirs. [words, size]
std::vector<float> vectors_of(const PairModel& model, const Corpus& corpus);

}  // namespace regard::vectors
