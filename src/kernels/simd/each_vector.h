// Loop over the vectors of an array of floats. The last vector may be partial; there is no scalar tail.
#pragma once

#include "kernels/simd/masked.h"
#include "kernels/simd/math.h"

namespace regard::kernels::REGARD_ISA {

// Call body(i, left) for each vector of `count` elements, where i is the index of the vector's first element.
// `left` is the number of elements in the vector, which is smaller for a partial last vector.
template <class Body>
HWY_INLINE void each_vector(std::int64_t count, Body body) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, lanes);
  if (i < count) body(i, count - i);
}

}  // namespace regard::kernels::REGARD_ISA
