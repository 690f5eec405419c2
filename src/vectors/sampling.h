// Alias tables and Huffman trees built from word counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace regard::vectors {

// Draws index i with probability proportional to weights[i] in constant time (Walker 1977, Vose 1991).
class AliasTable {
 public:
  // at least one weight; none negative; the sum positive
  explicit AliasTable(std::span<const double> weights);
  std::int32_t draw(RandomStream& random) const {
    const std::uint32_t bits = random.next();
    const auto place = static_cast<std::size_t>((std::uint64_t{random.next()} * entries_.size()) >> 32);
    return bits < entries_[place].keep ? static_cast<std::int32_t>(place) : entries_[place].other;
  }
  double probability(std::size_t index) const;  // the probability that the table realises

 private:
  struct Entry {
    std::uint32_t keep = ~std::uint32_t{0};  // in units of 2⁻³²
    std::int32_t other = 0;
  };
  std::vector<Entry> entries_;
};

// Return the distribution of negative samples, proportional to count^0.75 (Mikolov et al. 2013).
AliasTable negative_table(std::span<const std::int64_t> counts);

// Return the probability that subsampling keeps a word with count c of N, as in word2vec's code (the paper's
// formula differs): min(1, (√(c / (t N)) + 1) · t N / c); t = 0 keeps all words.
std::vector<float> keep_probabilities(std::span<const std::int64_t> counts, double sample);

// Huffman tree over the words. The words − 1 inner nodes are numbered from 0; the root is the last.
struct HuffmanTree {
  std::vector<std::uint64_t> begin;  // [words + 1] into the two below
  std::vector<std::int32_t> node;    // the inner nodes from the root to the word
  std::vector<float> label;          // 1 where the path takes the first branch (word2vec's 1 − code)

  explicit HuffmanTree(std::span<const std::int64_t> counts);
};

}  // namespace regard::vectors
