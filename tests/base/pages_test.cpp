// Page-aligned memory: alignment, and the pages that discard_pages() releases.
#include "base/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "regard/error.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

constexpr std::size_t kPage = 4096, kHugePage = std::size_t{2} << 20;

std::unique_ptr<std::byte, void (*)(void*)> pages(std::size_t bytes, std::size_t small = 0) {
  return {static_cast<std::byte*>(allocate_pages(bytes, small)), std::free};
}

TEST(Pages, AreAlignedToTheirSize) {
  const auto alignment = [](const std::byte* memory, std::size_t size) {
    return reinterpret_cast<std::uintptr_t>(memory) % size;
  };
  for (const std::size_t bytes : {std::size_t{1}, kPage, kHugePage - kPage})
    EXPECT_EQ(alignment(pages(bytes).get(), kPage), 0u) << bytes;
  for (const std::size_t bytes : {kHugePage - kPage + 1, kHugePage, 3 * kHugePage + 1})
    EXPECT_EQ(alignment(pages(bytes).get(), kHugePage), 0u) << bytes;
  const auto partly_small = pages(2 * kHugePage, kHugePage + 1);
  std::fill_n(partly_small.get(), 2 * kHugePage, std::byte{1});
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the process instead
  EXPECT_REGARD_ERROR(allocate_pages(std::size_t{1} << 62), ErrorKind::resource_exhausted,
                      "cannot allocate 4611686018427387904 bytes");
#endif
}

// A released page reads as zeros. Partly covered pages at both ends keep their contents.
TEST(Pages, OnlyWholePagesAreDiscarded) {
  const auto memory = pages(4 * kPage);
  const auto zero_pages = [&](std::size_t begin, std::size_t end) {
    std::fill_n(memory.get(), 4 * kPage, std::byte{1});
    discard_pages(memory.get() + begin, end - begin);
    std::vector<std::size_t> zeros;
    for (std::size_t page = 0; page < 4; ++page) {
      const std::byte* const first = memory.get() + page * kPage;
      const auto count = static_cast<std::size_t>(std::count(first, first + kPage, std::byte{0}));
      EXPECT_TRUE(count == 0 || count == kPage) << "page " << page;
      if (count > 0) zeros.push_back(page);
    }
    return zeros;
  };
  using Numbers = std::vector<std::size_t>;
  EXPECT_EQ(zero_pages(0, 4 * kPage), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(zero_pages(1, 4 * kPage), (Numbers{1, 2, 3}));
  EXPECT_EQ(zero_pages(kPage, 3 * kPage), (Numbers{1, 2}));
  EXPECT_EQ(zero_pages(kPage - 1, 3 * kPage - 1), (Numbers{1}));
  EXPECT_EQ(zero_pages(kPage + 1, 3 * kPage - 1), Numbers{});
  EXPECT_EQ(zero_pages(kPage + 1, kPage + 2), Numbers{});
}

}  // namespace
}  // namespace regard::testing
