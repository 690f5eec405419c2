// PairWindow: trains word vectors on a range of the corpus on one thread, and calls the kernels for each
// window. Only files in src/vectors include this header.
#pragma once

#include <span>
#include <vector>

#include "kernels/pair_step.h"
#include "vectors/sampling.h"
#include "vectors/train_pairs.h"

namespace regard::vectors {

// Read-only data shared by all threads.
struct PairTables {
  PairTables(const Corpus& corpus, const PairOptions& options);

  std::vector<float> keep;  // [words]
  AliasTable negatives;
  HuffmanTree tree;
  // Return the rows of the input matrix whose mean is a word's vector: the row of the word and the rows of
  // its n-grams.
  std::span<const std::int64_t> rows_of(std::int32_t word) const {
    const auto at = static_cast<std::size_t>(word);
    return {rows.data() + row_begin[at], row_begin[at + 1] - row_begin[at]};
  }
  std::vector<std::size_t> row_begin;
  std::vector<std::int64_t> rows;
};

class PairWindow {
 public:
  PairWindow(const PairModel& model, const PairTables& tables, const PairOptions& options);

  // Train on each sentence in `ids` once.
  void train(std::span<const std::int32_t> ids, float rate, RandomStream& random);
  // Return the mean loss per pair since the last call, over a sample of the windows.
  double take_loss();

 private:
  void sentence(RandomStream& random);
  void skip_gram(std::size_t centre, std::size_t begin, std::size_t end, RandomStream& random);
  void subword_skip_gram(std::size_t centre, std::size_t begin, std::size_t end, RandomStream& random);
  void cbow(std::size_t centre, std::size_t begin, std::size_t end, RandomStream& random);
  void draw_outputs(std::int32_t target, RandomStream& random);
  void step(float* const* inputs, std::int64_t count);
  // Set mean_ to the mean of the rows `rows_` of the input matrix.
  void compose();
  // Add the change of mean_ since compose() to each of the rows `rows_`.
  void spread();

  const PairModel& model_;
  const PairTables& tables_;
  const PairOptions& options_;
  float rate_ = 0;
  std::vector<std::int32_t> kept_;
  std::vector<float*> inputs_, outputs_;
  std::vector<float> labels_;
  std::vector<std::int64_t> rows_;
  std::unique_ptr<float, void (*)(void*)> memory_;
  float *scratch_, *mean_, *before_;
  float loss_ = 0;
  std::int64_t windows_ = 0, measured_ = 0;
};

}  // namespace regard::vectors
