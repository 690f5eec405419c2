// Scratch memory of one kernel call, shared by all of its tasks (partial sums, sorted indices). It is
// thread-local to the caller and only grows, so repeated calls of the same size allocate nothing.
#pragma once

#include <cstddef>

namespace regard::kernels {

// Return memory aligned to 64 bytes, whose content is undefined. Every call on the same thread invalidates
// the previous result, so a kernel that calls another kernel must request the memory again.
std::byte* call_scratch(std::size_t bytes);

}  // namespace regard::kernels
