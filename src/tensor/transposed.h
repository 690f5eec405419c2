// Transposition of matrices.
#pragma once

#include "base/namespaces.h"
#include "regard/tensor.h"

namespace regard::tensor {

// Return a transposed copy of an f32 or i8 matrix.
Tensor transposed(const Tensor& matrix);

}  // namespace regard::tensor
