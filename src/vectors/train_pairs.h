// Train word vectors with negative sampling or hierarchical softmax: skip-gram and CBOW (Mikolov et al. 2013,
// as in word2vec's code), and both with n-grams (Bojanowski et al. 2017, as in fastText).
//
// All pairs of a window share its negative samples, so that a window is one small matrix product (Ji et al.
// 2016, "Parallelizing word2vec in shared and distributed memory"). Each epoch visits segments of the corpus
// in a new order. Random draws depend only on seed, epoch and position in the corpus. One thread is
// reproducible to the bit; several threads update the same matrices without locks (Recht et al. 2011) and
// give slightly different vectors each time.
#pragma once

#include <cstdint>
#include <functional>

#include "base/thread_pool.h"
#include "vectors/corpus.h"
#include "vectors/word_vectors.h"

namespace regard::vectors {

// Lock-free updates are intentional data races, so a thread-sanitizer build trains on one thread.
#if defined(__SANITIZE_THREAD__)
constexpr bool kOneThread = true;
#else
constexpr bool kOneThread = false;
#endif

struct TrainProgress {
  double fraction = 0;  // completed fraction of all epochs
  double rate = 0;      // the learning rate now
  double loss = 0;      // mean over recent pairs, in nats
  double words = 0;     // words processed so far, over all epochs
  double words_per_second = 0;
};

struct PairOptions {
  bool cbow = false;
  bool hierarchical = false;  // hierarchical softmax instead of negative sampling
  std::int64_t size = 100;
  int window = 5;        // maximum words on each side; each window draws its size from 1 to `window`
  int negative = 5;      // negative samples per target
  double sample = 1e-3;  // subsampling of common words; 0 if there is none
  double rate = 0.025, min_rate = 1e-4;  // linear decay from rate to min_rate
  std::int64_t epochs = 5;
  Subwords subwords{3, 6, 0};
  std::uint64_t seed = 1;
  std::function<void(const TrainProgress&)> progress;  // called periodically, by one thread at a time
  std::function<bool()> stopped;                       // true ends the training early
};

// Trained matrices; rows are `stride` floats apart.
struct PairModel {
  std::int64_t size = 0, stride = 0;
  std::int64_t words = 0, outputs = 0;
  Subwords subwords;
  std::unique_ptr<float, void (*)(void*)> input{nullptr, nullptr};   // [words + buckets, stride]
  std::unique_ptr<float, void (*)(void*)> output{nullptr, nullptr};  // [outputs, stride]
  double words_per_second = 0;                                       // speed over the corpus

  float* input_row(std::int64_t row) const { return input.get() + row * stride; }
  float* output_row(std::int64_t row) const { return output.get() + row * stride; }
};

// Throws usage if options conflict.
PairModel train_pairs(const Corpus& corpus, const PairOptions& options, ThreadPool& pool);

// Word vectors [words, size]; with n-grams, the mean of the word's row and its n-grams' rows.
std::vector<float> vectors_of(const PairModel& model, const Corpus& corpus);

}  // namespace regard::vectors
