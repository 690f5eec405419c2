// Prefetch of mapped memory: lets the system read the pages while the program computes.
#pragma once

#include <cstddef>

namespace regard {

void read_ahead(const void* data, std::size_t bytes) noexcept;  // a hint that the system may ignore

}  // namespace regard
