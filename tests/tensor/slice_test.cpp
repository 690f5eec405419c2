// Slices and shapes at their limits, and the messages for arguments outside of them.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "regard/error.h"
#include "regard/tensor.h"
#include "support/namespaces.h"
#include "support/throws.h"
#include "tensor/transposed.h"

namespace regard::testing {
namespace {

TEST(Slice, MayBeEmptyOrWhole) {
  const Tensor matrix = Tensor::of({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(matrix.slice_columns(0, 0).shape(), (Shape{2, 0}));
  EXPECT_EQ(matrix.slice_columns(3, 3).shape(), (Shape{2, 0}));
  EXPECT_EQ(matrix.slice_columns(0, 3).shape(), (Shape{2, 3}));
  EXPECT_EQ(matrix.slice_rows(2, 2).shape(), (Shape{0, 3}));
  EXPECT_EQ(matrix.slice_rows(0, 2).shape(), (Shape{2, 3}));
  EXPECT_EQ(matrix.slice_rows(1, 2).shape(), (Shape{1, 3}));
  EXPECT_EQ(matrix.slice_columns(1, 1).to(DType::f64).elements(), 0);
  EXPECT_EQ(matrix.slice_columns(1, 1).clone().elements(), 0);
}

TEST(Slice, OutsideTheTensorIsRefused) {
  const Tensor matrix = Tensor::of({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_REGARD_ERROR(
      matrix.slice_rows(0, 3), ErrorKind::usage,
      "the range of rows is outside of the tensor (expected a range in [0, 2), found [0, 3))");
  EXPECT_REGARD_ERROR(matrix.slice_rows(2, 1), ErrorKind::usage, "found [2, 1)");
  EXPECT_REGARD_ERROR(matrix.slice_rows(-1, 1), ErrorKind::usage, "found [-1, 1)");
  EXPECT_REGARD_ERROR(Tensor::zeros(Shape{}).slice_rows(0, 0), ErrorKind::usage, "a range in [0, 0)");
  EXPECT_REGARD_ERROR(
      matrix.slice_columns(0, 4), ErrorKind::usage,
      "the range of columns is outside of the tensor (expected a range within the columns of a "
      "tensor of shape [2, 3], found [0, 4))");
  EXPECT_REGARD_ERROR(matrix.slice_columns(2, 1), ErrorKind::usage, "found [2, 1)");
  EXPECT_REGARD_ERROR(matrix.slice_columns(-1, 1), ErrorKind::usage, "found [-1, 1)");
  EXPECT_REGARD_ERROR(Tensor::zeros(Shape{}).slice_columns(0, 0), ErrorKind::usage, "shape []");
}

TEST(Slice, OfEightDimensions) {
  Tensor tensor = Tensor::zeros({2, 1, 3, 1, 1, 1, 1, 2});
  for (std::int64_t i = 0; i < 12; ++i) tensor.f32()[i] = static_cast<float>(i);
  const Tensor column = tensor.slice_columns(1, 2);
  EXPECT_EQ(column.shape(), (Shape{2, 1, 3, 1, 1, 1, 1, 1}));
  EXPECT_EQ(column.at({1, 0, 2, 0, 0, 0, 0, 0}), 11);
  const Tensor row = tensor.slice_rows(1, 2);
  EXPECT_EQ(row.shape(), (Shape{1, 1, 3, 1, 1, 1, 1, 2}));
  EXPECT_EQ(row.at({0, 0, 0, 0, 0, 0, 0, 1}), 7);
}

TEST(Shape, MessagesNameWhatIsWrong) {
  EXPECT_REGARD_ERROR(Shape({2, -1}), ErrorKind::usage,
                      "a size of a tensor is negative (expected at least 0, found -1)");
  EXPECT_REGARD_ERROR(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), ErrorKind::usage,
                      "a tensor has too many dimensions (expected at most 8 dimensions, found 9)");
  EXPECT_REGARD_ERROR(Shape({std::int64_t{1} << 40, std::int64_t{1} << 23}), ErrorKind::usage,
                      "found 1099511627776 × 8388608");
  EXPECT_EQ(Shape({std::int64_t{1} << 40, 0, std::int64_t{1} << 40}).elements(), 0);
  EXPECT_REGARD_ERROR((Shape{2}[8]), ErrorKind::usage, "(expected 0 to 7, found 8)");
  EXPECT_REGARD_ERROR((Shape{2}[-1]), ErrorKind::usage, "(expected 0 to 7, found -1)");
  EXPECT_EQ((Shape{2}[7]), 0);
  EXPECT_EQ((Shape{2, 3, 4}.text()), "[2, 3, 4]");
  EXPECT_EQ((Shape{2, 3, 4}.rows()), 6);
  EXPECT_EQ(Shape{}.rows(), 1);
  EXPECT_FALSE((Shape{2, 3}) == (Shape{2, 3, 0}));
}

TEST(Tensor, MessagesNameWhatIsWrong) {
  const Tensor matrix = Tensor::of({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_REGARD_ERROR(
      Tensor::of({2, 2}, {1}), ErrorKind::usage,
      "the number of values does not match the shape [2, 2] (expected 4 values, found 1 value)");
  EXPECT_REGARD_ERROR(matrix.reshape({4}), ErrorKind::usage,
                      "shape [2, 3] cannot be viewed as [4] (expected 6 elements, found 4 elements)");
  EXPECT_REGARD_ERROR(matrix.f64(), ErrorKind::usage, "wrong dtype of a tensor (expected f64, found f32)");
  EXPECT_REGARD_ERROR((void)matrix.at({1}), ErrorKind::usage,
                      "(expected 2 indices for the shape [2, 3], found 1 indices)");
  EXPECT_REGARD_ERROR((void)matrix.at({0, 3}), ErrorKind::usage,
                      "the index of dimension 1 is out of range (expected an index within the shape [2, 3], "
                      "found 3)");
  EXPECT_REGARD_ERROR((void)matrix.at({-1, 0}), ErrorKind::usage, "the index of dimension 0");
  EXPECT_REGARD_ERROR(
      Tensor::empty({std::int64_t{1} << 61}), ErrorKind::usage,
      "a tensor is too large (expected fewer than 2^63 bytes, found shape [2305843009213693952] "
      "of dtype f32)");
}

// The memory of freed blocks is not zero, so zeros() has to write it.
TEST(Tensor, SmallZerosAreZeros) {
  for (const std::int64_t size : {1, 15, 17, 1000}) {
    for (int i = 0; i < 8; ++i) {
      const Tensor used = Tensor::empty({size});
      std::memset(used.data(), 0xFF, used.bytes());
    }
    const Tensor zeros = Tensor::zeros({size});
    for (std::int64_t i = 0; i < size; ++i) ASSERT_EQ(zeros.f32()[i], 0.0f) << size;
  }
}

TEST(Transposed, SwapsRowsAndColumns) {
  const Tensor matrix = Tensor::of({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  for (const Tensor& from : {matrix.slice_columns(1, 4), matrix.to(DType::i8).slice_columns(1, 4)}) {
    const Tensor result = tensor::transposed(from);
    ASSERT_EQ(result.shape(), (Shape{3, 2}));
    EXPECT_EQ(result.dtype(), from.dtype());
    for (std::int64_t row = 0; row < 3; ++row)
      for (std::int64_t column = 0; column < 2; ++column)
        EXPECT_EQ(result.at({row, column}), from.at({column, row}));
  }
}

}  // namespace
}  // namespace regard::testing
