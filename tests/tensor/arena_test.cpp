// Tests of Arena: which memory it returns to the system, and which memory AddressSanitizer protects.
#include "tensor/arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <tuple>
#include <vector>

#include "base/poison.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kChunk = std::size_t{1} << 20;  // size of the first chunks

// The number of bytes of the whole pages inside [memory, memory + bytes) that are in physical memory.
std::size_t resident(std::byte* memory, std::size_t bytes) {
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kPage * kPage;
  std::vector<unsigned char> pages((end - begin) / kPage);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()), 0);
  std::size_t count = 0;
  for (const unsigned char page : pages) count += page & 1u;
  return count * kPage;
}

TEST(Arena, DiscardReturnsThePhysicalMemoryAndKeepsTheCapacity) {
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  Arena arena;
  std::byte* memory = arena.allocate(kBytes);
  std::memset(memory, 1, kBytes);
  ASSERT_GE(resident(memory, kBytes), kBytes - kPage);
  const std::size_t capacity = arena.capacity();
  arena.discard();
  EXPECT_EQ(resident(memory, kBytes), 0u);
  EXPECT_EQ(arena.touched(), 0u);
  EXPECT_EQ(arena.capacity(), capacity);
  EXPECT_EQ(arena.allocate(kBytes), memory) << "a new allocation starts at the beginning";
  std::memset(memory, 2, kBytes);
  EXPECT_EQ(arena.touched(), kBytes);
}

// Replaces five or more chunks by one, whose size is the memory used since the last reset plus 1/16, in whole
// pages.
TEST(Arena, ResetJoinsManyChunksIntoOneOfTheUsedSize) {
  Arena arena;
  for (int i = 0; i < 4; ++i) arena.allocate(kChunk);
  EXPECT_EQ(arena.capacity(), 4 * kChunk);
  arena.reset();
  EXPECT_EQ(arena.capacity(), 4 * kChunk) << "four chunks are kept";
  // The four chunks are used again, and two are added.
  for (int i = 0; i < 6; ++i) arena.allocate(kChunk);
  EXPECT_EQ(arena.capacity(), 6 * kChunk + kChunk / 4);
  EXPECT_EQ(arena.touched(), 6 * kChunk);
  arena.reset();
  EXPECT_EQ(arena.capacity(), 6 * kChunk + 6 * kChunk / 16);
  EXPECT_EQ(arena.touched(), 0u);
}

// After rewind(), the chunks behind the mark are counted once.
TEST(Arena, RewindOverChunksFreesThemForLaterObjects) {
  Arena arena;
  arena.allocate(100);
  const Arena::Mark mark = arena.mark();
  std::byte* const first = arena.allocate(1000);
  for (int i = 0; i < 4; ++i) arena.allocate(kChunk);
  arena.rewind(mark);
  EXPECT_EQ(arena.allocate(1000), first);
  for (int i = 0; i < 4; ++i) arena.allocate(kChunk);
  EXPECT_EQ(arena.capacity(), 5 * kChunk);
  arena.reset();
  EXPECT_EQ(arena.capacity(), 5 * kChunk + 5 * kChunk / 16);
}

// In a build with AddressSanitizer, all bytes of the arena that belong to no object are poisoned.
TEST(Arena, OnlyObjectsAreAccessible) {
  Arena arena;
  const std::byte* const first = arena.allocate(100);
  const Arena::Mark mark = arena.mark();
  const std::byte* const second = arena.allocate(64);
  const std::byte* const large = arena.allocate(kChunk);  // in the next chunk
  const auto poisoned = [](const std::byte* object, std::size_t bytes) {
    return std::tuple(is_poisoned(object), is_poisoned(object + bytes - 1), is_poisoned(object + bytes));
  };
  EXPECT_EQ(poisoned(first, 100), std::tuple(false, false, kPoisons));
  EXPECT_EQ(poisoned(second, 64), std::tuple(false, false, kPoisons));
  EXPECT_FALSE(is_poisoned(large + kChunk - 1));
  arena.rewind(mark);
  EXPECT_EQ(poisoned(first, 100), std::tuple(false, false, kPoisons));
  EXPECT_EQ(is_poisoned(second), kPoisons);
  EXPECT_EQ(is_poisoned(large), kPoisons);
  EXPECT_EQ(is_poisoned(large + kChunk - 1), kPoisons);
  arena.allocate(8);
  EXPECT_EQ(poisoned(second, 8), std::tuple(false, false, kPoisons));
  arena.reset();
  EXPECT_EQ(is_poisoned(first), kPoisons);
  for (int i = 0; i < 6; ++i) arena.allocate(kChunk);
  arena.reset();  // joins the chunks
  EXPECT_EQ(poisoned(arena.allocate(100), 100), std::tuple(false, false, kPoisons));
}

}  // namespace
}  // namespace regard::testing
