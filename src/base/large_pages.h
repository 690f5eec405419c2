// Allocator for data that is written once and read sequentially many times: packed weights of matrix
// products.
#pragma once

#include <cstddef>

#include "base/namespaces.h"

namespace regard::base {

// Allocate at least `bytes`, 64-byte aligned, to be freed by free_in_large_pages(); throws
// resource_exhausted. Allocations are placed one after another in regions of large pages, if the system
// provides such pages. Sequential reads of small pages are slower, because the processor stops prefetching at
// the end of each page. Allocations share regions, because a matrix rarely fills whole large pages. A region
// is freed with its last allocation. Its unused parts are never written and use no physical memory. May be
// called from any thread.
void* allocate_in_large_pages(std::size_t bytes);
void free_in_large_pages(void* memory) noexcept;  // `memory` may be null; any thread may call this

}  // namespace regard::base
