// Monotonic time in seconds, for progress and measurements. Results must not depend on the time.
#pragma once

#include <chrono>

#include "base/namespaces.h"

namespace regard::base {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Stopwatch {
 public:
  double seconds() const { return seconds_now() - start_; }
  void restart() { start_ = seconds_now(); }

 private:
  double start_ = seconds_now();
};

}  // namespace regard::base
