#include "nn/page_pool.h"

#include <algorithm>
#include <cstdlib>

#include "base/pages.h"
#include "regard/error.h"

namespace regard::nn {
namespace {

constexpr std::int64_t kSegmentFloats = 16 << 20;
constexpr std::int64_t kFloatsInLine = 16;
// minimum size in bytes of a segment for which large pages are requested
constexpr std::size_t kLargeSegment = std::size_t{4} << 20;

}  // namespace

void PagePool::grow(std::int64_t pages) {
  const std::int64_t stride = (floats_ + kFloatsInLine - 1) / kFloatsInLine * kFloatsInLine;
  if (pages <= size()) return;
  pages_.reserve(static_cast<std::size_t>(pages)), users_.reserve(static_cast<std::size_t>(pages));
  free_.reserve(static_cast<std::size_t>(pages));
  while (size() < pages) {
    const std::int64_t count = std::min(pages - size(), std::max<std::int64_t>(1, kSegmentFloats / stride));
    // Allocate one more cache line, for the alignment of the first page.
    const auto floats = static_cast<std::size_t>(count * stride + kFloatsInLine);
    void* memory = std::calloc(floats, sizeof(float));
    if (memory == nullptr) throw out_of_memory(floats * sizeof(float));
    segments_.emplace_back(static_cast<float*>(memory), std::free);
    std::size_t space = floats * sizeof(float);
    // Attention reads the rows of one head, a few KiB of each page of the cache. With small memory pages, it
    // would need a new TLB entry for each of them. Memory that is never written uses no physical pages.
    if (space >= kLargeSegment) ask_for_large_pages(memory, space);
    float* begin = static_cast<float*>(std::align(64, space - 63, memory, space));
    // Add the pages of this segment to the free list before the next segment is allocated. If that allocation
    // fails, these pages can still be used.
    free_.insert(free_.begin(), static_cast<std::size_t>(count), 0);
    for (std::int64_t i = 0; i < count; ++i) {
      free_[static_cast<std::size_t>(count - 1 - i)] = static_cast<std::int32_t>(size());
      pages_.push_back(begin + i * stride);
    }
    users_.resize(pages_.size());
  }
}

void PagePool::make_resident() {
  // Pages are adjacent within a segment, so writes to every cache line of every page cover the whole segment.
  for (float* page : pages_)
    for (std::int64_t i = 0; i < floats_; i += kFloatsInLine) page[i] = 0.0F;
}

std::int32_t PagePool::take() {
  const std::int32_t page = free_.back();
  free_.pop_back();
  users_[static_cast<std::size_t>(page)] = 1;
  return page;
}

void PagePool::release(std::int32_t page) {
  if (--users_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
}

}  // namespace regard::nn
