// Memory shared by all tasks of one kernel call (partial sums, sorted indices). It is thread-local to the
// caller and only grows, so repeated calls of the same size allocate nothing. Only one kernel may use it at a
// time: after calling another kernel, a kernel must request it again.
#pragma once

#include <cstddef>

namespace regard::kernels {

std::byte* call_scratch(std::size_t bytes);  // return memory aligned to 64 bytes; its content is undefined

}  // namespace regard::kernels
