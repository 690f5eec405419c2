#include "tensor/transposed.h"

namespace regard::tensor {

Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.rows(), columns = matrix.columns(), stride = matrix.row_stride();
  Tensor result = Tensor::empty({columns, rows}, matrix.dtype());
  const auto copy = [&]<class Number>(const Number* from, Number* to) {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        to[column * rows + row] = from[row * stride + column];
  };
  if (matrix.dtype() == DType::i8)
    copy(static_cast<const std::int8_t*>(matrix.data()), static_cast<std::int8_t*>(result.data()));
  else
    copy(matrix.f32(), result.f32());
  return result;
}

}  // namespace regard::tensor
