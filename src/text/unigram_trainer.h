// Learning a unigram model (Kudo 2018): many seed pieces, then rounds of expectation maximisation, each
// followed by dropping the pieces whose loss would hurt the likelihood least, as sentencepiece and Hugging
// Face's trainer do it.
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
    std::size_t pieces = 8000;       // to end with, characters included
    std::size_t special_tokens = 0;  // beside them; when to stop dropping is reckoned with these, as there
    std::size_t seeds = 1000000;
    std::uint32_t max_length = 16;  // of a piece, in characters
    double shrinking = 0.75;        // the part of the pieces that a round keeps
    int sub_iterations = 2;         // of expectation maximisation in a round
  };
  // The words must outlive the trainer and be sorted, so that the result depends on nothing else; they are
  // valid UTF-8 without U+0000. `pool` may be null; the result is the same bits for any number of threads.
  UnigramTrainer(const std::vector<WordCount>& words, ThreadPool* pool);

  // Pieces by falling score. Each of `required` is among them, seen or not. There may be fewer than asked
  // for. `progress` is told which part is done; it may be empty.
  std::vector<ScoredPiece> learn(const Limits& limits, const std::vector<char32_t>& required,
                                 const std::function<void(double)>& progress = {});

  // Minus the mean log-likelihood of a word at the last expectation step.
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
  double total_ = 0;  // words
  double bytes_ = 0;  // bytes of all words: at least as many as pieces are counted
  double objective_ = 0;
};

}  // namespace regard::text
