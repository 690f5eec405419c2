// Mapped memory that is about to be read: the system may begin to fetch it while we do something else.
#pragma once

#include <cstddef>

namespace regard {

void read_ahead(const void* data, std::size_t bytes) noexcept;  // a hint

}  // namespace regard
