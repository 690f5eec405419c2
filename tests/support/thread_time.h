// Processor time of a thread. Tests limit it instead of elapsed time, so that they pass on a busy machine.
#pragma once

#include <time.h>

#include "support/namespaces.h"

namespace regard::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
inline constexpr bool kSlowBuild = true;
#else
inline constexpr bool kSlowBuild = false;
#endif

// Return the seconds of processor time that the calling thread has used.
inline double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace regard::testing
