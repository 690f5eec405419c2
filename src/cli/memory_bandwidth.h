// Bandwidth of a sequential memory read by all threads. This bandwidth limits the speed of a decoding step,
// because a step reads all weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/pages.h"
#include "base/thread_pool.h"
#include "kernels/peak.h"

namespace regard::cli {

class MemoryBandwidth {
 public:
  MemoryBandwidth() : memory_(static_cast<float*>(allocate_pages(kBytes)), std::free) {
    std::fill_n(memory_.get(), kBytes / 4, 1.0f);
  }

  // Return the GB/s of one sequential read of 512 MiB, timed with `clock`.
  double once(ThreadPool& pool, double (*clock)() = seconds_now) {
    constexpr std::int64_t kPiece = kBytes / 4 / kPieces;
    const double begin = clock();
    pool.parallel_for(kPieces, [&](std::int64_t piece, int) {
      sums_[static_cast<std::size_t>(piece)] = kernels::sum_of(memory_.get() + piece * kPiece, kPiece);
    });
    return static_cast<double>(kBytes) / (clock() - begin) * 1e-9;
  }

 private:
  static constexpr std::int64_t kBytes = std::int64_t{512} << 20;
  static constexpr std::int64_t kPieces = 512;
  std::unique_ptr<float, void (*)(void*)> memory_;
  std::vector<float> sums_ = std::vector<float>(static_cast<std::size_t>(kPieces));
};

}  // namespace regard::cli
