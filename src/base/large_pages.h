// Memory for what is written once and then read through over and over: the weights that a product reads.
#pragma once

#include <cstddef>

namespace regard {

// At least `bytes`, 64-byte aligned, freed by free_in_large_pages(); throws bad_alloc. Pieces lie side by
// side in large pages, where the system has such: through small ones memory is read a quarter slower, since a
// processor stops fetching ahead at each page's end, and a matrix is rarely as long as whole large ones. The
// memory goes back when the last of the pieces beside each other is freed; what none was given of it is never
// touched.
void* allocate_in_large_pages(std::size_t bytes);
void free_in_large_pages(void* memory) noexcept;  // null: nothing

}  // namespace regard
