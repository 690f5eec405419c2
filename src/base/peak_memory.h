// The peak of this process's resident memory.
#pragma once

#include <cstdint>

#include "base/namespaces.h"

namespace regard::base {

// Return the largest resident memory of this process so far, in bytes; 0 if the system does not report it.
// Unlike the value of getrusage(), it excludes the memory of the process that started the program.
std::uint64_t peak_memory_bytes();

}  // namespace regard::base
