// Memory in whole pages, for what is large and kept: arenas, scratch, packed weights.
#pragma once

#include <cstddef>

namespace regard {

// At least `bytes`, aligned to a page, freed by std::free; throws bad_alloc. From 2 MiB on it asks the system
// for huge pages: a matrix with long rows touches a page a row, more than the processor's page cache holds.
void* allocate_pages(std::size_t bytes);

// A hint to the system: where it does not take it, small pages do the same work. `memory` begins a page.
void ask_for_large_pages(void* memory, std::size_t bytes) noexcept;

}  // namespace regard
