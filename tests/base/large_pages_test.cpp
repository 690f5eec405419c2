// Allocations in large pages: disjoint, aligned, and valid until freed, in any order.
#include "base/large_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "base/random.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

struct Piece {
  std::uint8_t* at;
  std::size_t bytes;
  std::uint8_t value;
  bool holds() const {
    for (std::size_t i = 0; i < bytes; ++i)
      if (at[i] != value) return false;
    return true;
  }
};

Piece make(std::size_t bytes, std::uint8_t value) {
  auto* at = static_cast<std::uint8_t*>(allocate_in_large_pages(bytes));
  std::memset(at, value, bytes);
  return {at, bytes, value};
}

void come_and_go(std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of("large_pages_test")});
  std::vector<Piece> pieces;
  for (int i = 0; i < 400; ++i) {
    if (!pieces.empty() && stream.next_below(5) < 2) {
      const auto which =
          static_cast<std::size_t>(stream.next_below(static_cast<std::uint32_t>(pieces.size())));
      ASSERT_TRUE(pieces[which].holds());
      free_in_large_pages(pieces[which].at);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const std::size_t bytes = i % 50 == 0 ? std::size_t{3} << 20 : stream.next_below(70000);
      pieces.push_back(make(bytes, static_cast<std::uint8_t>(i)));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(pieces.back().at) % 64, 0u);
    }
  }
  for (const Piece& piece : pieces) {
    EXPECT_TRUE(piece.holds());
    free_in_large_pages(piece.at);
  }
}

TEST(LargePages, PiecesComeAndGoInAnyOrder) {
  come_and_go(1);
  std::thread other([] { come_and_go(2); });
  come_and_go(3);
  other.join();
}

// Allocate more than a region of 64 MiB, and then more than the current region has left.
TEST(LargePages, PiecesOfAnySize) {
  const Piece small = make(100, 1);
  auto* large = static_cast<std::uint8_t*>(allocate_in_large_pages(std::size_t{200} << 20));
  large[0] = large[(std::size_t{200} << 20) - 1] = 7;
  auto* whole = static_cast<std::uint8_t*>(allocate_in_large_pages((std::size_t{64} << 20) - 64));
  whole[(std::size_t{64} << 20) - 65] = 9;
  const Piece beside = make(100, 2);
  EXPECT_TRUE(small.holds() && beside.holds());
  for (void* piece : {static_cast<void*>(large), static_cast<void*>(small.at), static_cast<void*>(whole),
                      static_cast<void*>(beside.at), static_cast<void*>(nullptr)})
    free_in_large_pages(piece);
}

}  // namespace
}  // namespace regard::testing
