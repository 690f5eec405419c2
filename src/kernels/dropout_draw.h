// How dropout decides: 16 bits a value, so that one Philox block serves eight, against the rate in 65536ths.
// What is kept is scaled by the share that is really kept, so the mean stays.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace regard::kernels {

struct DropoutDraw {
  std::uint32_t key0 = 0, key1 = 0;  // fold(RandomKey)
  std::uint32_t threshold = 0;       // a draw below it is dropped: the rate in 65536ths, rounded
  float kept = 1.0f;                 // factor of a value that stays: 1 / (1 − threshold / 65536)

  // The factor, 0 or `kept`, of value `index` of the eight that a block serves.
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
