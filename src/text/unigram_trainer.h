// Unigram model training (Kudo 2018). It starts with many seed pieces, then alternates between expectation
// maximisation and the removal of pieces that contribute least to the likelihood, as in sentencepiece and
// Hugging Face's trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "text/unigram.h"
#include "text/unigram_lattice.h"
#include "text/word_counts.h"

namespace regard::text {

class UnigramTrainer {
 public:
  struct Limits {
    std::size_t pieces = 8000;  // final number of pieces, including required characters
    // number of special tokens; pruning stops at 1.1 · (pieces + special_tokens) pieces, as in Hugging Face's
    // trainer
    std::size_t special_tokens = 0;
    std::size_t seeds = 1000000;
    std::uint32_t max_length = 16;  // maximum length of a piece in characters
    double shrinking = 0.75;        // fraction of the pieces kept in each round
    int sub_iterations = 2;         // number of expectation-maximisation steps per round
  };
  // `words` must outlive the trainer, be sorted (for a reproducible result), and be valid UTF-8 without
  // U+0000. Results are bit-identical for any number of threads of `pool`, which may be null.
  UnigramTrainer(const std::vector<WordCount>& words, ThreadPool* pool);

  // Return the pieces in the order of decreasing scores, including all of `required`; there may be fewer than
  // limits.pieces. `progress` is called with the completed fraction and may be empty.
  std::vector<ScoredPiece> learn(const Limits& limits, const std::vector<char32_t>& required,
                                 const std::function<void(double)>& progress = {});

  // Return the negative log-likelihood of the last expectation step, as the mean over all words.
  double objective() const noexcept { return objective_; }

 private:
  void add_seeds(const Limits& limits);
  std::vector<double> expect();
  void maximise(const std::vector<double>& expected);
  void prune(std::size_t keep);
  std::vector<double> best_counts() const;
  std::vector<ScoredPiece> finished(std::size_t size, const std::vector<char32_t>& required) const;
  template <class Body>
  std::vector<double> sums(std::size_t size, double largest, Body body) const;

  const std::vector<WordCount>& words_;
  ThreadPool* pool_;
  std::vector<ScoredPiece> pieces_;
  UnigramLattice lattice_;
  double total_ = 0;  // number of words, counted with repetition
  // number of bytes of all words, counted with repetition; no piece has a larger count
  double bytes_ = 0;
  double objective_ = 0;
};

}  // namespace regard::text
