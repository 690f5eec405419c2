// Memory shared by all tasks of one kernel call (partial sums, sorted indices). It is thread-local to the
// caller and only grows, so a steady step allocates nothing. One user at a time: a kernel that calls another
// must request it again afterwards.
#pragma once

#include <cstddef>

namespace regard::kernels {

std::byte* call_scratch(std::size_t bytes);  // aligned to 64; content undefined

}  // namespace regard::kernels
