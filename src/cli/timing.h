// Time measurement for `regard bench`.
#pragma once

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/clock.h"

namespace regard::cli {

// Return the CPU seconds of this process, summed over all threads. They depend less on other load on the
// machine than elapsed time.
inline double processor_seconds_now() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Return the minimum seconds of a measurement: the environment variable REGARD_BENCH_SECONDS if it is a
// number above 0, else `usual`.
inline double measuring_seconds(double usual) {
  const char* text = std::getenv("REGARD_BENCH_SECONDS");
  const double seconds = text == nullptr ? usual : std::strtod(text, nullptr);
  return std::isfinite(seconds) && seconds > 0 ? seconds : usual;
}

struct Timing {
  double median_ms = 0, best_ms = 0;
  double processor_ms = 0;  // median CPU time of all threads
};

inline Timing summarise(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  const double median =
      seconds.size() % 2 != 0 ? seconds[middle] : 0.5 * (seconds[middle - 1] + seconds[middle]);
  return {1e3 * median, 1e3 * seconds.front(), 0};
}

// Elapsed and CPU seconds of repeated work.
struct Repetitions {
  std::vector<double> elapsed, processor;

  // Run body() `calls` times and append the mean elapsed and CPU seconds of one call.
  template <class Body>
  void time(Body&& body, int calls = 1) {
    const double before = processor_seconds_now();
    const Stopwatch watch;
    for (int call = 0; call < calls; ++call) body();
    elapsed.push_back(watch.seconds() / calls);
    processor.push_back((processor_seconds_now() - before) / calls);
  }
  Timing timing() const {
    Timing result = summarise(elapsed);
    result.processor_ms = summarise(processor).median_ms;
    return result;
  }
};

// Time body() after a warm-up, for at least 10 repetitions and measuring_seconds(1). A body shorter than 50
// µs is called several times per repetition, which makes the cost of reading the clock negligible.
template <class Body>
Timing time_repeatedly(Body&& body) {
  constexpr double kWarmUp = 0.1, kShortest = 50e-6;
  const double enough = measuring_seconds(1.0);
  constexpr std::size_t kFewest = 10;
  const Stopwatch warm_up;
  double last = 0;
  do {
    const Stopwatch once;
    body();
    last = once.seconds();
  } while (warm_up.seconds() < std::min(kWarmUp, enough));
  const int calls = last >= kShortest ? 1 : 1 + static_cast<int>(kShortest / std::max(last, 1e-8));
  Repetitions repetitions;
  for (const Stopwatch total; repetitions.elapsed.size() < kFewest || total.seconds() < enough;)
    repetitions.time(body, calls);
  return repetitions.timing();
}

}  // namespace regard::cli
