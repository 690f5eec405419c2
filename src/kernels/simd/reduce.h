// Sums and maxima within a row. The result depends only on the row: vector i is added to accumulator i mod 4,
// and the accumulators are combined as (0 + 1) + (2 + 3). The lanes of this sum are then combined in an order
// that is fixed for each instruction set.
#pragma once

#include "kernels/simd/masked.h"
#include "kernels/simd/math.h"

namespace regard::kernels::REGARD_ISA {

// Call body(i, count, accumulator) for each vector of a row, where i is the index of its first element. The
// first `count` lanes are valid, or all lanes if `count` is larger than their number.
template <class Body>
HWY_INLINE void for_vectors(std::int64_t columns, Body&& body) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + 4 * lanes <= columns; i += 4 * lanes) {
    body(i, lanes, 0);
    body(i + lanes, lanes, 1);
    body(i + 2 * lanes, lanes, 2);
    body(i + 3 * lanes, lanes, 3);
  }
  for (int which = 0; i < columns; i += lanes, ++which) body(i, columns - i, which);
}

// Four accumulators of a sum. The caller must set lanes beyond the row's end to zero.
struct RowSum {
  FloatVector part[4];
  HWY_INLINE RowSum() {
    for (FloatVector& one : part) one = hn::Zero(Floats());
  }
  HWY_INLINE void add(int which, FloatVector value) { part[which] = hn::Add(part[which], value); }
  HWY_INLINE void add_product(int which, FloatVector a, FloatVector b) {
    part[which] = hn::MulAdd(a, b, part[which]);
  }
  // Return the total in every lane.
  HWY_INLINE FloatVector total() const {
    return hn::SumOfLanes(Floats(), hn::Add(hn::Add(part[0], part[1]), hn::Add(part[2], part[3])));
  }
};

struct RowMaximum {
  FloatVector part[4];
  HWY_INLINE RowMaximum() {
    for (FloatVector& one : part) one = hn::Neg(hn::Inf(Floats()));
  }
  HWY_INLINE void add(int which, FloatVector value) { part[which] = hn::Max(part[which], value); }
  HWY_INLINE FloatVector total() const {
    return hn::MaxOfLanes(Floats(), hn::Max(hn::Max(part[0], part[1]), hn::Max(part[2], part[3])));
  }
};

// Return `value` in the first `count` lanes, and −∞ (or_lowest) or zero (or_zero) in the others.
HWY_INLINE FloatVector or_lowest(FloatVector value, std::int64_t count) {
  return hn::IfThenElse(first_lanes(Floats(), count), value, hn::Neg(hn::Inf(Floats())));
}
HWY_INLINE FloatVector or_zero(FloatVector value, std::int64_t count) {
  return hn::IfThenElseZero(first_lanes(Floats(), count), value);
}

HWY_INLINE float first_lane(FloatVector value) {
  return hn::GetLane(value);
}

}  // namespace regard::kernels::REGARD_ISA
