// Transposition of matrices.
#pragma once

#include "base/namespaces.h"
#include "regard/tensor.h"

namespace regard::tensor {

// Return a transposed copy of an f32 matrix.
inline Tensor transposed(const Tensor& matrix) {
  Tensor to = Tensor::empty({matrix.columns(), matrix.rows()});
  for (std::int64_t r = 0; r < matrix.rows(); ++r)
    for (std::int64_t c = 0; c < matrix.columns(); ++c) to.row(c)[r] = matrix.row(r)[c];
  return to;
}

}  // namespace regard::tensor
