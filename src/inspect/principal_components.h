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

// Project the rows of x [rows, features] onto their first two principal components; rows that are all equal
// are projected to the origin. The sign of a component is chosen so that its coordinate of largest magnitude
// is positive.
PlaneProjection principal_plane(const Tensor& x);

}  // namespace regard::inspect
