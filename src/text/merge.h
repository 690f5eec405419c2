// Merge the symbols of one word. The pair of lowest rank is merged first; among pairs of equal rank, the
// leftmost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "text/model.h"

namespace regard::text {

// Result of merging two adjacent symbols. Rank -1 means no merge.
struct Merge {
  std::int32_t rank = -1, id = -1;
};

namespace merging {

constexpr std::size_t kLongWord = 100;  // maximum number of symbols for merge_short()

// Finds each merge by a linear scan, which is fastest for words of at most kLongWord symbols.
template <class Find>
void merge_short(const Find& find, std::vector<Token>& symbols, std::size_t first) {
  Merge next[kLongWord];  // next[i] is the merge of symbols i and i + 1
  Token* const word = symbols.data() + first;
  std::size_t count = symbols.size() - first;
  for (std::size_t i = 0; i + 1 < count; ++i) next[i] = find(word[i], word[i + 1]);
  while (count > 1) {
    std::size_t best = count;
    auto best_rank = ~std::uint32_t{0};  // as an unsigned number, rank -1 (no merge) is the largest
    for (std::size_t i = 0; i + 1 < count; ++i) {
      const auto rank = static_cast<std::uint32_t>(next[i].rank);
      if (rank < best_rank) {
        best_rank = rank;
        best = i;
      }
    }
    if (best == count) break;
    word[best] = {next[best].id, word[best].begin, word[best + 1].end};
    std::copy(word + best + 2, word + count, word + best + 1);
    if (best + 2 < count) std::copy(next + best + 2, next + count - 1, next + best + 1);
    --count;
    if (best > 0) next[best - 1] = find(word[best - 1], word[best]);
    if (best + 1 < count) next[best] = find(word[best], word[best + 1]);
  }
  symbols.resize(first + count);
}

struct Candidate {
  std::int32_t rank;
  std::uint32_t place;
  std::int32_t id;
  std::uint32_t right;  // index of the right symbol when the candidate was created
  std::uint32_t end;    // end of the right symbol when the candidate was created
  // reversed, because std::priority_queue keeps the largest element on top
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
  }
};

// Uses a heap and a linked list, and therefore takes O(n log n) time for any word.
template <class Find>
void merge_long(const Find& find, std::vector<Token>& symbols, std::size_t first) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  const auto count = static_cast<std::uint32_t>(symbols.size() - first);
  Token* const word = symbols.data() + first;
  std::vector<std::uint32_t> previous(count), following(count);
  std::vector<bool> gone(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    previous[i] = i == 0 ? kNone : i - 1;
    following[i] = i + 1 == count ? kNone : i + 1;
  }
  std::vector<Candidate> candidates;
  const auto candidate_at = [&](std::uint32_t place, auto add) {
    if (place == kNone || following[place] == kNone) return;
    const std::uint32_t right = following[place];
    const Merge merge = find(word[place], word[right]);
    if (merge.rank >= 0) add(Candidate{merge.rank, place, merge.id, right, word[right].end});
  };
  for (std::uint32_t i = 0; i < count; ++i)
    candidate_at(i, [&](Candidate candidate) { candidates.push_back(candidate); });
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(candidates));
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    // Skip outdated candidates: the left symbol no longer exists or has a new neighbour, or the right symbol
    // has grown.
    if (gone[top.place] || following[top.place] != top.right || word[top.right].end != top.end) continue;
    word[top.place] = {top.id, word[top.place].begin, top.end};
    gone[top.right] = true;
    following[top.place] = following[top.right];
    if (following[top.right] != kNone) previous[following[top.right]] = top.place;
    candidate_at(previous[top.place], [&](Candidate candidate) { queue.push(candidate); });
    candidate_at(top.place, [&](Candidate candidate) { queue.push(candidate); });
  }
  std::size_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i)
    if (!gone[i]) word[kept++] = word[i];
  symbols.resize(first + kept);
}

}  // namespace merging

// Merge adjacent symbols of `symbols[first...]` in place; find(left, right) returns the merge of two
// symbols. O(n log n).
template <class Find>
void merge_symbols(const Find& find, std::vector<Token>& symbols, std::size_t first) {
  if (symbols.size() - first < 2) return;
  if (symbols.size() - first <= merging::kLongWord) {
    merging::merge_short(find, symbols, first);
  } else {
    merging::merge_long(find, symbols, first);
  }
}

}  // namespace regard::text
