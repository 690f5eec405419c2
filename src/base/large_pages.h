// Allocator for data that is written once and read sequentially many times: packed weights of matrix
// products.
#pragma once

#include <cstddef>

#include "base/namespaces.h"

namespace regard::base {

// Allocate at least `bytes`, 64-byte aligned, to be freed by free_in_large_pages(). May be called from any
// thread; throws resource_exhausted. Uses huge pages if the system provides them, because the processor stops
// prefetching at the end of each page. Several allocations may share a page.
void* allocate_in_large_pages(std::size_t bytes);
void free_in_large_pages(void* memory) noexcept;  // `memory` may be null; any thread may call this

}  // namespace regard::base
