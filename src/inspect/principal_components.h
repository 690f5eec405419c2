// Principal component analysis (Pearson 1901), used to draw vectors in a plane.
#pragma once

#include <array>
#include <vector>

#include "regard/tensor.h"

namespace regard::inspect {

struct PlaneProjection {
  std::vector<std::array<double, 2>> points;  // coordinates of each row of x in the plane
  std::array<double, 2> explained{0, 0};      // fraction of the variance along each axis
};

// Project the rows of x [rows, features] onto their two main axes. The sign of an axis is chosen so that its
// coordinate of largest magnitude is positive. Rows that are all equal are at the origin.
PlaneProjection principal_plane(const Tensor& x);

}  // namespace regard::inspect
