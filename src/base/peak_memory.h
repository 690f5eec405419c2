// The peak of this process's resident memory.
#pragma once

#include <cstdint>

#include "base/namespaces.h"

namespace regard::base {

// Return the largest resident memory of this process so far, in bytes. Unlike getrusage(), the number does
// not include the process that started the program. 0 if the system does not report it.
std::uint64_t peak_memory_bytes();

}  // namespace regard::base
