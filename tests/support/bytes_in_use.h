// The bytes that a program has allocated and not freed.
#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <malloc.h>
#define REGARD_MALLINFO 1
#endif

namespace regard::testing {

// Return the bytes allocated with malloc() and related functions and not freed; 0 if the C library does not
// count them, or if a sanitizer replaces these functions.
inline std::size_t bytes_in_use() {
#ifdef REGARD_MALLINFO
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

}  // namespace regard::testing
