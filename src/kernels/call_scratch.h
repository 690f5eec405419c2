// Memory for one kernel call that all of its tasks share (partial sums, sorted indices). It belongs to the
// calling thread and only grows, so a steady step allocates nothing; two outside threads never share it. One
// user at a time: a kernel that calls another asks again afterwards.
#pragma once

#include <cstddef>

namespace regard::kernels {

std::byte* call_scratch(std::size_t bytes);  // aligned to 64; content undefined

}  // namespace regard::kernels
