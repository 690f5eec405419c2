// Count every allocation of the process and its bytes, from any thread and through any allocation function of
// C or C++.
// Include this in exactly one file of a test program. Under address or thread sanitizers, which replace the
// allocator, and without glibc, nothing is counted and counting() returns false.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "support/namespaces.h"

namespace regard::testing {

inline std::atomic<std::int64_t> allocation_count{0}, allocated_bytes{0};  // totals; never decreased
// number of further calls of posix_memalign() that fail (allocate_pages)
inline std::atomic<int> refusals{0};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
constexpr bool counting() {
  return false;
}
#else
constexpr bool counting() {
  return true;
}
#endif

inline void count_allocation(std::size_t bytes) {
  ++allocation_count;
  allocated_bytes += static_cast<std::int64_t>(bytes);
}

}  // namespace regard::testing

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  regard::testing::count_allocation(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  regard::testing::count_allocation(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  regard::testing::count_allocation(size);
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  regard::testing::count_allocation(size);
  return __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  regard::testing::count_allocation(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  regard::testing::count_allocation(size);
  if (regard::testing::refusals > 0 && regard::testing::refusals-- > 0) {
    ::usleep(5000);  // lets other threads run before the failure
    return ENOMEM;
  }
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif
