#include "support/bytes_in_use.h"

#include <cstdlib>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <malloc.h>
#define REGARD_MALLINFO 1
#endif

namespace regard::testing {

std::size_t bytes_in_use() {
#ifdef REGARD_MALLINFO
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

}  // namespace regard::testing
