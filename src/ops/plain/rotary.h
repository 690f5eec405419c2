// Reference implementation of kernels::rotary: rotary position embedding (Su et al. 2021).
#pragma once

#include <cstdint>

#include "base/namespaces.h"

namespace regard::ops::plain {

struct Rotary {
  std::int64_t rows = 0, heads = 0, head_dim = 0, rotary_dim = 0;
  bool interleaved = false;  // true for the pairs (2i, 2i + 1), false for (i, i + rotary_dim / 2)
  bool inverse = false;      // true to rotate by the negative angle
};

// Rotate x [rows, heads × head_dim] in place. cosine, sine: [positions, rotary_dim / 2].
template <class Real>
void rotary(const Rotary& shape, Real* x, const std::int32_t* position, const Real* cosine,
            const Real* sine) {
  const std::int64_t half = shape.rotary_dim / 2;
  for (std::int64_t row = 0; row < shape.rows; ++row)
    for (std::int64_t head = 0; head < shape.heads; ++head)
      for (std::int64_t i = 0; i < half; ++i) {
        Real* at = x + (row * shape.heads + head) * shape.head_dim;
        Real& first = at[shape.interleaved ? 2 * i : i];
        Real& second = at[shape.interleaved ? 2 * i + 1 : i + half];
        const Real c = cosine[position[row] * half + i];
        const Real s = shape.inverse ? -sine[position[row] * half + i] : sine[position[row] * half + i];
        const Real turned = first * c - second * s;
        second = second * c + first * s;
        first = turned;
      }
}

}  // namespace regard::ops::plain
