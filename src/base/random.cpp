#include "base/random.h"

#include <cmath>
#include <numbers>

namespace regard::base {

std::uint32_t RandomStream::next() {
  if (left_ == 0) {
    words_ = philox({static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32), 0, 0},
                    key_[0], key_[1]);
    ++block_;
    left_ = 4;
  }
  return words_[static_cast<std::size_t>(4 - left_--)];
}

double RandomStream::next_normal() {
  const double radius_draw = (static_cast<double>(next()) + 1.0) * 0x1.0p-32;  // uniform in (0, 1]
  const double angle_draw = static_cast<double>(next()) * 0x1.0p-32;
  return std::sqrt(-2.0 * std::log(radius_draw)) * std::cos(2.0 * std::numbers::pi * angle_draw);
}

std::uint64_t RandomStream::next_below(std::uint64_t bound) {
  // Reject draws at or above this limit, because they would make small values more likely.
  const std::uint64_t limit = bound * (UINT64_MAX / bound);
  while (true) {
    const std::uint64_t high = next();
    const std::uint64_t draw = high << 32 | next();
    if (draw < limit) return draw % bound;
  }
}

}  // namespace regard::base
