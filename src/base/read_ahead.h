// Prefetch of mapped memory: the system reads the pages while the program computes.
#pragma once

#include <cstddef>

#include "base/namespaces.h"

namespace regard::base {

// Request that the system read the pages of [data, data + bytes) in the background. The system may ignore the
// request.
void read_ahead(const void* data, std::size_t bytes) noexcept;

}  // namespace regard::base
