// Character n-grams as in fastText (Bojanowski et al. 2017): all n-grams of "<word>" with `shortest` to
// `longest` code points. Each n-gram is assigned to one of `buckets` by its FNV-1a hash.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace regard::vectors {

struct Subwords {
  int shortest = 3, longest = 6;
  std::int64_t buckets = 0;  // number of buckets; 0 means no n-grams

  // Store in `numbers` the buckets of the word's n-grams, with repetitions, in fastText's order. "<" and ">"
  // alone are not n-grams; the end-of-sentence word "</s>" has no n-grams.
  void buckets_of(std::string_view word, std::vector<std::int64_t>& numbers) const;
};

// Return fastText's hash: FNV-1a over signed bytes, as in its published models.
std::uint32_t subword_hash(std::string_view text) noexcept;

}  // namespace regard::vectors
