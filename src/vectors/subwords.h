// Character n-grams as fastText has them (Bojanowski et al. 2017): a word between "<" and ">" is cut into all
// n-grams of `shortest` to `longest` code points, and each falls into one of `buckets` by its FNV-1a hash.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace regard::vectors {

struct Subwords {
  int shortest = 3, longest = 6;
  std::int64_t buckets = 0;  // 0: no n-grams

  // Bucket numbers of the word's n-grams, with repetitions, in fastText's order. A single "<" or ">" is no
  // n-gram, and the end of a sentence, "</s>", has none.
  void buckets_of(std::string_view word, std::vector<std::int64_t>& numbers) const;
};

// fastText's hash: FNV-1a on signed bytes, which is what its models were trained with.
std::uint32_t subword_hash(std::string_view text) noexcept;

}  // namespace regard::vectors
