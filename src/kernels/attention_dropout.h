// Which attention weights a run drops: one draw of 16 bits a weight, named by what it belongs to, so that it
// does not depend on how the work is cut. The same for the fused kernels, the composed path and the tests.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace regard::kernels {

struct AttentionDropout {
  std::uint32_t key0 = 0, key1 = 0;  // fold(RandomKey)
  std::uint32_t threshold = 0;       // a draw below it is dropped: the rate in 65536ths, rounded
  float kept = 1.0f;                 // factor of a weight that stays: 1 / (1 − threshold / 65536)
};

inline AttentionDropout attention_dropout(const RandomKey& key, float rate) {
  AttentionDropout dropout;
  const auto words = fold(key);
  dropout.key0 = words[0];
  dropout.key1 = words[1];
  dropout.threshold = static_cast<std::uint32_t>(rate * 65536.0f + 0.5f);
  dropout.kept =
      dropout.threshold >= 65536u ? 0.0f : 65536.0f / static_cast<float>(65536u - dropout.threshold);
  return dropout;
}

// The factor of one weight: 0 or `kept`. `position` is the query's place on the key side, i + offset. One
// Philox block serves eight neighbouring keys.
inline float dropout_factor(const AttentionDropout& dropout, std::uint64_t sequence_index,
                            std::int64_t position, std::int64_t head, std::int64_t key) {
  const Counter counter{static_cast<std::uint32_t>(sequence_index), static_cast<std::uint32_t>(position),
                        static_cast<std::uint32_t>(head) ^ static_cast<std::uint32_t>(sequence_index >> 32)
                                                               << 16,
                        static_cast<std::uint32_t>(key / 8)};
  const Counter words = philox(counter, dropout.key0, dropout.key1);
  const std::uint32_t draw = words[static_cast<std::size_t>(key % 8 / 2)] >> (key % 2 * 16) & 0xFFFFu;
  return draw < dropout.threshold ? 0.0f : dropout.kept;
}

}  // namespace regard::kernels
