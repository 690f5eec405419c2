#include "base/pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "regard/error.h"

namespace regard::base {
namespace {
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

void advise_whole_pages(void* memory, std::size_t bytes, int advice) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage, end = (begin + bytes) / kPage * kPage;
  if (first < end) static_cast<void>(madvise(reinterpret_cast<void*>(first), end - first, advice));
}
}  // namespace

void ask_for_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_HUGEPAGE)
  advise_whole_pages(memory, bytes, MADV_HUGEPAGE);
#endif
}

void discard_pages(void* memory, std::size_t bytes) noexcept {
  advise_whole_pages(memory, bytes, MADV_DONTNEED);
}

void* allocate_pages(std::size_t bytes, std::size_t small) {
  const std::size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  // Unlike aligned_alloc, posix_memalign does not require a size that is a multiple of the alignment.
  void* memory = nullptr;
  if (posix_memalign(&memory, rounded >= kHugePage ? kHugePage : kPage, rounded) != 0)
    throw out_of_memory(rounded);
  const std::size_t first = std::min((small + kHugePage - 1) / kHugePage * kHugePage, rounded);
  if (rounded - first >= kHugePage)
    ask_for_large_pages(static_cast<std::byte*>(memory) + first, (rounded - first) / kHugePage * kHugePage);
  return memory;
}

}  // namespace regard::base
