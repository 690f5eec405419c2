// Prefetch of mapped memory: lets the system read the pages while the program computes.
#pragma once

#include <cstddef>

namespace regard {

// ask the system to read these pages; it may ignore the hint
void read_ahead(const void* data, std::size_t bytes) noexcept;

}  // namespace regard
