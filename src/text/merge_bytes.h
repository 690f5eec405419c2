// Byte-pair encoding of a short word of bytes to ids alone, for when a word is new.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "text/merge.h"
#include "text/word_cache.h"

namespace regard::text {

// What pairs of ids join to, remembered near by: a thread's, for the model it worked with last.
class PairMemo {
 public:
  // A number for each model of the process.
  static std::uint64_t new_owner() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
  static PairMemo& of(std::uint64_t owner) {
    thread_local PairMemo memo;
    if (memo.owner_ != owner) memo.begin_anew(owner);
    return memo;
  }

  template <class Find>
  Merge find(std::int32_t left, std::int32_t right, const Find& find_far) {
    const std::uint64_t key = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
    Slot& slot = slots_[static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> (64 - kBits))];
    if (slot.key != key) slot = {key, find_far()};
    return slot.merge;
  }

 private:
  static constexpr int kBits = 15;
  struct Slot {
    std::uint64_t key = ~std::uint64_t{0};  // no pair of ids
    Merge merge;
  };
  void begin_anew(std::uint64_t owner) {
    owner_ = owner;
    slots_.assign(std::size_t{1} << kBits, Slot{});
  }
  std::uint64_t owner_ = 0;
  std::vector<Slot> slots_;
};

constexpr std::size_t kShortBytes = 64;  // of a word for merge_bytes

// Appends the ids of `word`, at most kShortBytes: find_bytes(first, second) says what two bytes join to, and
// find(left id, right id, the bytes of both) what two symbols do.
template <class FindBytes, class Find>
void merge_bytes(std::string_view word, const std::int32_t* byte_ids, const FindBytes& find_bytes,
                 const Find& find, IdBuffer& out) {
  std::array<std::uint32_t, kShortBytes> ranks;  // of symbol i with the next; -1, the largest, is no merge
  std::array<std::int32_t, kShortBytes> joined, ids;
  std::array<std::uint8_t, kShortBytes + 1> begins;
  std::size_t count = word.size();
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(word[i]); };
  const auto set = [&](std::size_t i, Merge merge) {
    ranks[i] = static_cast<std::uint32_t>(merge.rank);
    joined[i] = merge.id;
  };
  for (std::size_t i = 0; i < count; ++i) {
    ids[i] = byte_ids[byte(i)];
    begins[i] = static_cast<std::uint8_t>(i);
    if (i + 1 < count) set(i, find_bytes(byte(i), byte(i + 1)));
  }
  begins[count] = static_cast<std::uint8_t>(count);
  const auto find_at = [&](std::size_t i) {
    set(i, find(ids[i], ids[i + 1],
                word.substr(begins[i], static_cast<std::size_t>(begins[i + 2] - begins[i]))));
  };
  while (count > 1) {
    std::uint32_t best_rank = ranks[0];
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      best = ranks[i] < best_rank ? i : best;
      best_rank = std::min(best_rank, ranks[i]);
    }
    if (best_rank == ~std::uint32_t{0}) break;
    ids[best] = joined[best];
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      ids[i] = ids[i + 1];
      begins[i] = begins[i + 1];
      ranks[i] = ranks[i + 1];
      joined[i] = joined[i + 1];
    }
    begins[count - 1] = begins[count];
    --count;
    if (best > 0) find_at(best - 1);
    if (best + 1 < count) find_at(best);
  }
  out.append({ids.data(), count});
}

}  // namespace regard::text
