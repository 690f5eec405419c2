// Trains word vectors with negative sampling or hierarchical softmax: skip-gram and CBOW (Mikolov et al.
// 2013, as in word2vec's code), and both with n-grams (Bojanowski et al. 2017, as in fastText).
//
// All pairs of a window share the same negative samples, so that a window is one small matrix product (Ji et
// al. 2016, "Parallelizing word2vec in shared and distributed memory"). Exception: skip-gram with n-grams
// draws samples for each context word.
//
// Each epoch visits segments of the corpus in a new order. Random draws depend only on seed, epoch and
// position in the corpus.
//
// On one thread, results are bit-identical in every run. Several threads update the same matrices without
// locks (Recht et al. 2011), so the vectors differ slightly between runs.
#pragma once

#include <cstdint>
#include <functional>

#include "base/thread_pool.h"
#include "vectors/corpus.h"
#include "vectors/word_vectors.h"

namespace regard::vectors {

// Updates without locks are intentional data races, so a build with the thread sanitizer trains on one
// thread.
#if defined(__SANITIZE_THREAD__)
constexpr bool kOneThread = true;
#else
constexpr bool kOneThread = false;
#endif

struct TrainProgress {
  double fraction = 0;  // completed fraction of all epochs
  double rate = 0;      // current learning rate
  double loss = 0;      // mean loss over recent pairs, in nats
  double words = 0;     // number of words processed so far, over all epochs
  double words_per_second = 0;
};

struct PairOptions {
  bool cbow = false;
  bool hierarchical = false;  // if true, use hierarchical softmax instead of negative sampling
  std::int64_t size = 100;
  // maximum number of words on each side; the size of each window is drawn from 1 to `window`
  int window = 5;
  int negative = 5;      // number of negative samples per target
  double sample = 1e-3;  // threshold t of subsampling (keep_probabilities()); 0 means no subsampling
  // The learning rate decreases linearly from `rate` to `min_rate`. It is constant if `rate` is smaller.
  double rate = 0.025, min_rate = 1e-4;
  std::int64_t epochs = 5;
  Subwords subwords{3, 6, 0};
  std::uint64_t seed = 1;
  std::function<void(const TrainProgress&)> progress;  // called periodically, by one thread at a time
  std::function<bool()> stopped;                       // if it returns true, training ends early
};

// Trained matrices. Each row starts `stride` floats after the previous one.
struct PairModel {
  std::int64_t size = 0, stride = 0;
  std::int64_t words = 0, outputs = 0;
  Subwords subwords;
  std::unique_ptr<float, void (*)(void*)> input{nullptr, nullptr};   // [words + buckets, stride]
  std::unique_ptr<float, void (*)(void*)> output{nullptr, nullptr};  // [outputs, stride]
  double words_per_second = 0;  // processed words of the corpus per second

  float* input_row(std::int64_t row) const { return input.get() + row * stride; }
  float* output_row(std::int64_t row) const { return output.get() + row * stride; }
};

// Throws usage for invalid options and for a vocabulary of fewer than two words, and numeric if training
// diverges.
PairModel train_pairs(const Corpus& corpus, const PairOptions& options, ThreadPool& pool);

// Return the word vectors [words, size]. With n-grams, a vector is the mean of the word's row and the rows of
// its n-grams.
std::vector<float> vectors_of(const PairModel& model, const Corpus& corpus);

}  // namespace regard::vectors
