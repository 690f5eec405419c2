// The vector code of the scanners and of the byte merges, compared with scalar loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "text/merge_bytes.h"
#include "text/scan_text.h"

namespace regard::text {
namespace {

TEST(LettersOf, EveryByteAtEveryPlace) {
  for (const char around : {'a', ' ', '\xFF'}) {
    for (std::size_t place = 0; place < scanning::kBlock; ++place) {
      for (int value = 0; value < 256; ++value) {
        std::string block(scanning::kBlock, around);
        block[place] = static_cast<char>(value);
        std::uint32_t wanted = 0;
        for (std::size_t i = 0; i < block.size(); ++i) {
          const char c = block[i];
          if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) wanted |= std::uint32_t{1} << i;
        }
        ASSERT_EQ(scanning::letters_of(block.data()), wanted) << value << " at " << place;
      }
    }
  }
}

TEST(LeastOf, EverySize) {
  RandomStream random({.seed = 3});
  alignas(32) std::uint32_t ranked[kShortBytes];
  for (std::size_t size = 1; size <= kShortBytes; ++size) {
    for (int turn = 0; turn < 200; ++turn) {
      std::fill(std::begin(ranked), std::end(ranked), kNoRank);
      // Set none, some or all of the ranks. Some ranks are the largest that PairMemo can store.
      const std::uint64_t share = random.next_below(4);
      for (std::size_t i = 0; i < size; ++i) {
        if (random.next_below(3) >= share) continue;
        const std::uint64_t rank =
            random.next_below(8) == 0 ? PairMemo::kMostRanks - 1 : random.next_below(PairMemo::kMostRanks);
        ranked[i] = static_cast<std::uint32_t>(rank << 6 | i);
      }
      ASSERT_EQ(least_of(ranked, size), *std::min_element(ranked, ranked + size)) << size;
    }
  }
}

TEST(PairMemo, NoPairLooksLikeAFreeSlot) {
  constexpr std::int32_t kLast = PairMemo::kMostIds - 1;  // largest id of a vocabulary of kMostIds ids
  PairMemo& memo = PairMemo::of(PairMemo::new_owner());
  EXPECT_EQ(memo.find(kLast, kLast, [] { return 7; }), 7);
}

}  // namespace
}  // namespace regard::text
