#include "base/large_pages.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/pages.h"
#include "regard/error.h"

namespace regard::base {
namespace {

constexpr std::size_t kLine = 64;
// Alignment and minimum size of a region in bytes. The alignment makes it possible to compute the region of
// an allocation from its address.
constexpr std::size_t kRegion = std::size_t{64} << 20;

// Header of a region of huge pages. Allocations share a region, because a matrix rarely fills whole huge
// pages. The region is freed with its last allocation, and unused parts use no physical memory.
struct alignas(kLine) Region {
  std::size_t size, used;
  std::size_t pieces;
};

std::mutex regions_mutex;
Region* current = nullptr;  // region for new allocations; may be null

Region* new_region(std::size_t bytes) {
  const std::size_t size = std::max(kRegion, sizeof(Region) + bytes);
  void* memory = nullptr;
  if (posix_memalign(&memory, kRegion, size) != 0) throw out_of_memory(size);
  ask_for_large_pages(memory, size);
  return new (memory) Region{size, sizeof(Region), 0};
}

}  // namespace

void* allocate_in_large_pages(std::size_t bytes) {
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kLine - 1) / kLine * kLine;
  if (rounded < bytes) throw out_of_memory(bytes);
  const std::lock_guard lock(regions_mutex);
  Region* region = current;
  if (region == nullptr || region->size - region->used < rounded) region = new_region(rounded);
  // Use `region` for later allocations too if it will have more free space than `current`. A region larger
  // than kRegion is not reused, because free_in_large_pages() finds the region only of allocations that start
  // in its first kRegion bytes.
  if (region->size == kRegion && (current == nullptr || region->used + rounded < current->used))
    current = region;
  void* piece = reinterpret_cast<std::byte*>(region) + region->used;
  region->used += rounded;
  ++region->pieces;
  return piece;
}

void free_in_large_pages(void* memory) noexcept {
  if (memory == nullptr) return;
  auto* region = reinterpret_cast<Region*>(reinterpret_cast<std::uintptr_t>(memory) / kRegion * kRegion);
  const std::lock_guard lock(regions_mutex);
  if (--region->pieces > 0) return;
  if (current == region) current = nullptr;
  std::free(region);
}

}  // namespace regard::base
