// GloVe (Pennington, Socher and Manning 2014): minimises Σ f(x) (w · c + b_w + b_c − log x)² over
// co-occurrence counts x with AdaGrad. The vector of a word is w + c.
#pragma once

#include "vectors/cooccurrence.h"
#include "vectors/train_pairs.h"

namespace regard::vectors {

struct GloveOptions {
  std::int64_t size = 100;
  CooccurrenceOptions counting;
  std::int64_t epochs = 15;
  double rate = 0.05;
  double x_max = 100.0, alpha = 0.75;  // f(x) = min(1, (x / x_max)^alpha)
  std::uint64_t seed = 1;
  std::function<void(const TrainProgress&)> progress;
  std::function<bool()> stopped;
};

struct GloveResult {
  std::vector<float> values;    // [words, size]
  std::vector<double> loss;     // mean loss over the pairs, one value per epoch
  std::uint64_t pairs = 0;      // number of distinct pairs
  double words_per_second = 0;  // processed words per second, without the time for counting
};

// On one thread, results are bit-identical in every run, as for train_pairs(). Returns an empty result if
// training is stopped while counting. Throws usage for invalid options, io if a temporary file cannot be
// written, and numeric if training diverges.
GloveResult train_glove(const Corpus& corpus, const GloveOptions& options, ThreadPool& pool);

}  // namespace regard::vectors
