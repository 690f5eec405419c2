// Byte-level BPE of short words, for words that are not in the word cache.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "text/word_cache.h"

namespace regard::text {

// Thread-local cache of merge ranks by pair of ids, for the model that the thread used last.
class PairMemo {
 public:
  // One less than 2^21: a pair of two ids 2^21 - 1 would have the same bits as a free slot.
  static constexpr std::int32_t kMostIds = (1 << 21) - 1;
  static constexpr std::size_t kMostRanks = (std::size_t{1} << 22) - 1;

  // Return a number that is unique in the process, to identify a model.
  static std::uint64_t new_owner() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
  static PairMemo& of(std::uint64_t owner) {
    thread_local PairMemo memo;
    if (memo.owner_ != owner) memo.begin_anew(owner);
    return memo;
  }

  // Return the rank of the merge of two ids, or -1 if there is none. If the rank is not in the cache, call
  // find_far() to get it. Ids must be below kMostIds, and ranks below kMostRanks.
  template <class Find>
  std::int32_t find(std::int32_t left, std::int32_t right, const Find& find_far) {
    const std::uint64_t pair = static_cast<std::uint64_t>(left) << 21 | static_cast<std::uint64_t>(right);
    std::uint64_t& slot = slots_[static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15u) >> (64 - kBits))];
    if (slot >> 22 != pair) slot = pair << 22 | static_cast<std::uint64_t>(find_far() + 1);
    return static_cast<std::int32_t>(slot & kMostRanks) - 1;
  }

 private:
  static constexpr int kBits = 16;
  void begin_anew(std::uint64_t owner) {
    owner_ = owner;
    // A free slot contains a pair of ids that cannot occur.
    slots_.assign(std::size_t{1} << kBits, ~std::uint64_t{0});
  }
  std::uint64_t owner_ = 0;
  std::vector<std::uint64_t> slots_;  // each slot holds the left id, the right id and the rank + 1
};

constexpr std::size_t kShortBytes = 64;  // maximum length in bytes of a word for merge_bytes()

constexpr std::uint32_t kNoRank = 0x7FFFFFFF;  // larger than every rank, and positive as a signed number

// Return the minimum of ranked[0, size), where size is at most kShortBytes. The following elements, up to a
// multiple of eight, are also read and must be kNoRank.
// An element is kNoRank, or has the rank in its high 26 bits and the position in its low 6 bits.
inline std::uint32_t least_of(const std::uint32_t* ranked, std::size_t size) noexcept {
#if defined(__SSE2__)
  const auto load = [&](std::size_t i) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(ranked + i));
  };
  const auto least_of_both = [](__m128i a, __m128i b) {
    const __m128i above = _mm_cmpgt_epi32(a, b);
    return _mm_or_si128(_mm_and_si128(above, b), _mm_andnot_si128(above, a));
  };
  __m128i four = least_of_both(load(0), load(4));
  for (std::size_t i = 8; i < size; i += 8) four = least_of_both(four, least_of_both(load(i), load(i + 4)));
  four = least_of_both(four, _mm_shuffle_epi32(four, 0x4E));
  four = least_of_both(four, _mm_shuffle_epi32(four, 0xB1));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(four));
#else
  return *std::min_element(ranked, ranked + size);
#endif
}

// Append the ids of `word`, which has 1 to kShortBytes bytes. find_bytes(first, second) for two bytes and
// find(left id, right id, bytes of both) for two symbols return the rank of the merge, or −1 if there is
// none.
// id_of(rank) returns the merged token.
template <class FindBytes, class Find, class IdOf>
void merge_bytes(std::string_view word, const std::int32_t* byte_ids, const FindBytes& find_bytes,
                 const Find& find, const IdOf& id_of, IdBuffer& out) {
  constexpr unsigned kPlaceBits = 6;
  static_assert(kShortBytes == 1u << kPlaceBits && PairMemo::kMostRanks < kNoRank >> kPlaceBits);
  // ranked[i] belongs to the symbol that starts at byte i: the rank of its merge with the next symbol,
  // combined with i. Bit i of `begins` is set if a symbol starts at byte i.
  alignas(32) std::uint32_t ranked[kShortBytes];
  std::int32_t ids[kShortBytes];
  const std::size_t size = word.size();
  std::uint64_t begins = ~std::uint64_t{0} >> (kShortBytes - size);
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(word[i]); };
  const auto set = [&](std::size_t i, std::int32_t rank) {
    ranked[i] =
        rank < 0 ? kNoRank : static_cast<std::uint32_t>(rank) << kPlaceBits | static_cast<std::uint32_t>(i);
  };
  ids[0] = byte_ids[byte(0)];
  for (std::size_t i = 1; i < size; ++i) {
    ids[i] = byte_ids[byte(i)];
    set(i - 1, find_bytes(byte(i - 1), byte(i)));
  }
  for (std::size_t i = size - 1; i < (size + 7) / 8 * 8; ++i) ranked[i] = kNoRank;
  // Return the start of the first symbol after byte i, or kShortBytes if there is none.
  const auto next = [&](std::size_t i) {
    return static_cast<std::size_t>(std::countr_zero(begins & (~std::uint64_t{1} << i)));
  };
  const auto join = [&](std::size_t left, std::size_t right) {
    const std::size_t end = std::min(next(right), size);
    set(left, find(ids[left], ids[right], word.substr(left, end - left)));
  };
  for (;;) {
    const std::uint32_t least = least_of(ranked, size);
    if (least == kNoRank) break;
    const std::size_t place = least & (kShortBytes - 1);
    const std::size_t gone = next(place);
    ids[place] = id_of(least >> kPlaceBits);
    begins &= ~(std::uint64_t{1} << gone);
    ranked[gone] = kNoRank;
    if (const std::size_t right = next(place); right < size) {
      join(place, right);
    } else {
      ranked[place] = kNoRank;
    }
    if (const std::uint64_t before = begins & ((std::uint64_t{1} << place) - 1); before != 0)
      join(kShortBytes - 1 - static_cast<std::size_t>(std::countl_zero(before)), place);
  }
  std::int32_t* const to = out.reserve(size);
  std::size_t count = 0;
  for (std::uint64_t left = begins; left != 0; left &= left - 1) to[count++] = ids[std::countr_zero(left)];
  out.advance(count);
}

}  // namespace regard::text
