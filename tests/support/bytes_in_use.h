// The bytes that a program has allocated and not freed.
#pragma once

#include <cstddef>

#include "support/namespaces.h"

namespace regard::testing {

// Return the bytes allocated with malloc() and related functions and not freed; 0 if the C library does not
// count them, or if a sanitizer replaces these functions.
std::size_t bytes_in_use();

}  // namespace regard::testing
