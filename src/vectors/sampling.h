// Draws and trees over a vocabulary's counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace regard::vectors {

// Draws i with probability proportional to weight i in constant time (Walker 1977, Vose 1991).
class AliasTable {
 public:
  explicit AliasTable(std::span<const double> weights);  // at least one, none negative, their sum positive
  std::int32_t draw(RandomStream& random) const {
    const std::uint32_t bits = random.next();
    const auto place = static_cast<std::size_t>((std::uint64_t{random.next()} * entries_.size()) >> 32);
    return bits < entries_[place].keep ? static_cast<std::int32_t>(place) : entries_[place].other;
  }
  double probability(std::size_t index) const;  // as the table draws it

 private:
  struct Entry {
    std::uint32_t keep = ~std::uint32_t{0};  // of 2³²
    std::int32_t other = 0;
  };
  std::vector<Entry> entries_;
};

// Negative samples are drawn by count^0.75 (Mikolov et al. 2013).
AliasTable negative_table(std::span<const std::int64_t> counts);

// The probability that subsampling keeps a word, as word2vec's code has it (its paper's formula differs):
// (√(c / (t N)) + 1) · t N / c, at most 1, for a word seen c times of N; t = 0 keeps all.
std::vector<float> keep_probabilities(std::span<const std::int64_t> counts, double sample);

// A Huffman tree over the words: inner nodes are numbered from 0 (words − 1 of them), the root is the last.
struct HuffmanTree {
  std::vector<std::uint64_t> begin;  // [words + 1] into the two below
  std::vector<std::int32_t> node;    // the inner nodes from the root to the word
  std::vector<float> label;          // 1 where the way turns to the first branch, as word2vec's 1 − code

  explicit HuffmanTree(std::span<const std::int64_t> counts);
};

}  // namespace regard::vectors
