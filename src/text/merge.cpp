#include "text/merge.h"

#include <algorithm>
#include <bit>
#include <queue>

namespace regard::text {
namespace {

constexpr std::size_t kLongWord = 100;  // symbols

void merge_short(const MergeTable& merges, std::vector<Token>& symbols, std::size_t first) {
  MergeTable::Merge next[kLongWord];  // of symbol i with symbol i + 1
  Token* const word = symbols.data() + first;
  std::size_t count = symbols.size() - first;
  for (std::size_t i = 0; i + 1 < count; ++i) next[i] = merges.find(word[i].id, word[i + 1].id);
  while (count > 1) {
    std::size_t best = count;
    auto best_rank = ~std::uint32_t{0};  // rank -1 is the largest unsigned: no merge
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
    if (best > 0) next[best - 1] = merges.find(word[best - 1].id, word[best].id);
    if (best + 1 < count) next[best] = merges.find(word[best].id, word[best + 1].id);
  }
  symbols.resize(first + count);
}

struct Candidate {
  std::int32_t rank;
  std::uint32_t place;
  std::int32_t id;
  // The queue's top is its largest.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
  }
};

void merge_long(const MergeTable& merges, std::vector<Token>& symbols, std::size_t first) {
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
    const MergeTable::Merge merge = merges.find(word[place].id, word[following[place]].id);
    if (merge.rank >= 0) add(Candidate{merge.rank, place, merge.id});
  };
  for (std::uint32_t i = 0; i < count; ++i)
    candidate_at(i, [&](Candidate candidate) { candidates.push_back(candidate); });
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(candidates));
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const std::uint32_t right = gone[top.place] ? kNone : following[top.place];
    if (right == kNone) continue;
    const MergeTable::Merge merge = merges.find(word[top.place].id, word[right].id);
    if (merge.rank != top.rank || merge.id != top.id) continue;  // the pair changed since
    word[top.place] = {top.id, word[top.place].begin, word[right].end};
    gone[right] = true;
    following[top.place] = following[right];
    if (following[right] != kNone) previous[following[right]] = top.place;
    candidate_at(previous[top.place], [&](Candidate candidate) { queue.push(candidate); });
    candidate_at(top.place, [&](Candidate candidate) { queue.push(candidate); });
  }
  std::size_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i)
    if (!gone[i]) word[kept++] = word[i];
  symbols.resize(first + kept);
}

}  // namespace

void MergeTable::reserve(std::size_t merges) {
  grow(std::bit_ceil(merges * 2 + 16));
}

void MergeTable::grow(std::size_t slots) {
  if (slots <= slots_.size()) return;
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.key != kFree) slots_[place_of(slot.key)] = slot;
}

std::size_t MergeTable::place_of(std::uint64_t key) const noexcept {
  const int shift = std::countl_zero(slots_.size()) + 1;  // keeps the product's top bits
  std::size_t place = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift);
  while (slots_[place].key != kFree && slots_[place].key != key) place = (place + 1) & (slots_.size() - 1);
  return place;
}

void MergeTable::add(std::int32_t left, std::int32_t right, Merge merge) {
  if (used_ * 2 >= slots_.size()) grow(std::max<std::size_t>(64, slots_.size() * 2));
  const std::uint64_t key = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  Slot& slot = slots_[place_of(key)];
  if (slot.key == kFree) ++used_;
  slot = {key, merge};
}

MergeTable::Merge MergeTable::find(std::int32_t left, std::int32_t right) const noexcept {
  if (slots_.empty()) return {};
  return slots_[place_of(static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right))].merge;
}

void merge_symbols(const MergeTable& merges, std::vector<Token>& symbols, std::size_t first) {
  if (symbols.size() - first < 2) return;
  if (symbols.size() - first <= kLongWord) {
    merge_short(merges, symbols, first);
  } else {
    merge_long(merges, symbols, first);
  }
}

}  // namespace regard::text
