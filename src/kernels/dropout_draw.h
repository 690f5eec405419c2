// Random draws of dropout. A draw is a 16-bit number; a value is dropped if its draw is below the rate in
// units of 1/65536. Kept values are divided by the exact keep probability, which preserves the mean.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace regard::kernels {

struct DropoutDraw {
  std::uint32_t key0 = 0, key1 = 0;  // key of the Philox generator: fold(RandomKey)
  // values with a smaller draw are dropped; the rate in units of 1/65536, rounded
  std::uint32_t threshold = 0;
  float kept = 1.0f;  // factor of kept values: 1 / (1 − threshold / 65536)

  // Return the factor, 0 or `kept`, of value `index` (0 to 7). A Philox block contains the draws of eight
  // values, 16 bits each.
  float factor(const Counter& block, std::size_t index) const {
    const std::uint32_t draw = block[index / 2] >> (index % 2 * 16) & 0xFFFFu;
    return draw < threshold ? 0.0f : kept;
  }
};

inline DropoutDraw dropout_draw(const RandomKey& key, float rate) {
  DropoutDraw dropout;
  const auto words = fold(key);
  dropout.key0 = words[0];
  dropout.key1 = words[1];
  dropout.threshold = static_cast<std::uint32_t>(rate * 65536.0f + 0.5f);
  dropout.kept =
      dropout.threshold >= 65536u ? 0.0f : 65536.0f / static_cast<float>(65536u - dropout.threshold);
  return dropout;
}

}  // namespace regard::kernels
