// Alias tables and Huffman trees, which are constructed from word counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace regard::vectors {

// Draws index i with probability proportional to weights[i] in constant time (Walker 1977, Vose 1991).
class AliasTable {
 public:
  // `weights` must not be empty or contain a negative value, and its sum must be positive.
  explicit AliasTable(std::span<const double> weights);
  std::int32_t draw(RandomStream& random) const {
    const std::uint32_t bits = random.next();
    const auto place = static_cast<std::size_t>((std::uint64_t{random.next()} * entries_.size()) >> 32);
    return bits < entries_[place].keep ? static_cast<std::int32_t>(place) : entries_[place].other;
  }
  double probability(std::size_t index) const;  // the exact probability with which draw() returns `index`

 private:
  struct Entry {
    std::uint32_t keep = ~std::uint32_t{0};  // probability of the index itself, in units of 2⁻³²
    std::int32_t other = 0;                  // index that is returned otherwise
  };
  std::vector<Entry> entries_;
};

// Return the distribution of negative samples: probabilities proportional to count^0.75 (Mikolov et al.
// 2013).
AliasTable negative_table(std::span<const std::int64_t> counts);

// Return the probability that subsampling keeps each word; t = `sample`, and t = 0 keeps all words.
// The probability of a word with c of N occurrences is min(1, (√(c / (t N)) + 1) · t N / c). This is the
// formula of word2vec's code, which differs from the formula of the paper.
std::vector<float> keep_probabilities(std::span<const std::int64_t> counts, double sample);

// Huffman tree over the words. Inner nodes are numbered from 0, and the root is the last inner node; there is
// one inner node fewer than words.
struct HuffmanTree {
  // [words + 1]: word i has elements begin[i] to begin[i + 1] of `node` and `label`
  std::vector<std::uint64_t> begin;
  std::vector<std::int32_t> node;  // the inner nodes on the path from the root to the word
  std::vector<float> label;  // for each node, 1 if the path takes the first branch (word2vec's 1 − code)

  explicit HuffmanTree(std::span<const std::int64_t> counts);
};

}  // namespace regard::vectors
