// regard bench peak: peak multiply-add rate and memory bandwidth of the machine.
#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "cli/bench.h"
#include "cli/memory_bandwidth.h"
#include "cli/timing.h"
#include "kernels/peak.h"

namespace regard::cli {
namespace {

constexpr int kRepetitions = 10;
// Rounds of multiply-adds per task. They take a few milliseconds: long enough to make the wake-up time of
// threads negligible.
constexpr std::int64_t kRounds = 1'600'000;
constexpr double kSeconds = 0.5;

// Return the GFLOP/s that fused multiply-adds in registers reach on all threads of the pool, in the best
// repetition.
double multiply_add_gflops(ThreadPool& pool) {
  double best = 0;
  std::vector<std::int64_t> operations(static_cast<std::size_t>(pool.size()));
  const double enough = measuring_seconds(kSeconds);
  for (const Stopwatch total; total.seconds() < enough;) {
    const Stopwatch watch;
    pool.parallel_for(pool.size(), [&](std::int64_t task, int) {
      operations[static_cast<std::size_t>(task)] = kernels::multiply_add_in_registers(kRounds);
    });
    std::int64_t done = 0;
    for (std::int64_t one : operations) done += one;
    best = std::max(best, static_cast<double>(done) / watch.seconds() * 1e-9);
  }
  return best;
}

// Return the GB/s of one sequential pass over memory, timed with `clock`, in the fastest repetition.
double best_of(MemoryBandwidth& read, ThreadPool& pool, double (*clock)() = seconds_now) {
  double best = 0;
  read.once(pool, clock);
  for (int repetition = 0; repetition < kRepetitions; ++repetition)
    best = std::max(best, read.once(pool, clock));
  return best;
}

void run(Globals& globals) {
  MemoryBandwidth read;
  ThreadPool one(1);
  Json line = bench_line("peak", globals);
  line["fma_gflops_one"] = multiply_add_gflops(one);
  line["fma_gflops_all"] = multiply_add_gflops(globals.pool());
  line["read_gb_s_one"] = best_of(read, one);
  line["read_gb_per_processor_s"] = best_of(read, one, processor_seconds_now);
  line["read_gb_s_all"] = best_of(read, globals.pool());
  print_line(line);
}

}  // namespace

void add_bench_peak(CLI::App& bench, Globals& globals) {
  CLI::App* peak = bench.add_subcommand("peak", "Measure peak multiply-adds per second and memory bandwidth");
  add_globals(*peak, globals);
  peak->callback([&globals] { run(globals); });
}

}  // namespace regard::cli
