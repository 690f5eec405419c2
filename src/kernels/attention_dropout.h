// Dropout of attention weights, shared by the fused kernels and the tests. Each weight has one draw, which
// depends only on the weight's coordinates, not on the division of the work.
#pragma once

#include <cstdint>

#include "kernels/dropout_draw.h"

namespace regard::kernels {

using AttentionDropout = DropoutDraw;

inline AttentionDropout attention_dropout(const RandomKey& key, float rate) {
  return dropout_draw(key, rate);
}

// Return the factor of one attention weight: 0 or `kept`. `position` is the query's position among the keys,
// i + offset.
inline float dropout_factor(const AttentionDropout& dropout, std::uint64_t sequence_index,
                            std::int64_t position, std::int64_t head, std::int64_t key) {
  // one Philox block contains the draws of eight consecutive keys
  const Counter counter{static_cast<std::uint32_t>(sequence_index), static_cast<std::uint32_t>(position),
                        static_cast<std::uint32_t>(head) ^ static_cast<std::uint32_t>(sequence_index >> 32)
                                                               << 16,
                        static_cast<std::uint32_t>(key / 8)};
  return dropout.factor(philox(counter, dropout.key0, dropout.key1), static_cast<std::size_t>(key % 8));
}

}  // namespace regard::kernels
