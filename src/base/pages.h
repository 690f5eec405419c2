// Page-aligned memory for large, long-lived buffers: arenas, scratch, packed weights.
#pragma once

#include <cstddef>

#include "base/namespaces.h"

namespace regard::base {

// Allocate at least `bytes`, aligned to a page, to be freed by std::free; the first `small` bytes stay in
// small pages, so that a large buffer that remains almost empty uses little memory. Requests huge pages for
// at least 2 MiB, because a matrix with long rows touches one page per row, more than the TLB holds. Throws
// resource_exhausted.
void* allocate_pages(std::size_t bytes, std::size_t small = 0);

// Request huge pages for the whole pages inside [memory, memory + bytes): a hint that the system may ignore.
void ask_for_large_pages(void* memory, std::size_t bytes) noexcept;

// Release the physical memory of the whole pages inside [memory, memory + bytes) to the system. The address
// range stays allocated; its contents are lost.
void discard_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace regard::base
