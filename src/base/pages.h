// Page-aligned memory for large, long-lived buffers, such as scratch memory.
#pragma once

#include <cstddef>

#include "base/namespaces.h"

namespace regard::base {

// Allocate at least `bytes`, aligned to a page, to be freed by std::free; throws resource_exhausted. Requests
// huge pages for 2 MiB or more, because long matrix rows touch more small pages than the TLB holds. The first
// `small` bytes stay in small pages, so that an almost empty large buffer uses little memory.
void* allocate_pages(std::size_t bytes, std::size_t small = 0);

// Request huge pages for the whole pages inside [memory, memory + bytes): a hint that the system may ignore.
void ask_for_large_pages(void* memory, std::size_t bytes) noexcept;

// Release the physical memory of the whole pages inside [memory, memory + bytes) to the system. The address
// range stays allocated; its contents are lost.
void discard_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace regard::base
