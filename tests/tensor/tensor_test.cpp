#include "regard/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "regard/error.h"
#include "tensor/arena.h"

namespace regard {
namespace {

TEST(Tensor, SlicesShareMemoryAndKeepTheirStride) {
  Tensor matrix = Tensor::of({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  Tensor middle = matrix.slice_columns(1, 3);
  EXPECT_FALSE(middle.contiguous());
  EXPECT_EQ(middle.at({1, 0}), 5);
  EXPECT_EQ(middle.slice_rows(1, 2).at({0, 1}), 6);
  EXPECT_EQ(middle.clone().f32()[3], 6);
  matrix.f32()[5] = 50;
  EXPECT_EQ(middle.at({1, 0}), 50);
  EXPECT_THROW(middle.reshape({4}), Error);
  EXPECT_THROW((void)matrix.at({2, 0}), Error);
}

TEST(Tensor, ShapesRefuseNonsense) {
  EXPECT_THROW(Shape({-1}), Error);
  EXPECT_THROW(Shape({std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  EXPECT_THROW(Shape({1, 1, 1, 1, 1, 1, 1, 1, 1}), Error);
}

TEST(DType, HalfPrecisionRoundTripsEveryFinitePattern) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(from_f16(half))) {
      EXPECT_EQ(to_f16(from_f16(half)), half);
    }
    if (!std::isnan(from_bf16(half))) {
      EXPECT_EQ(to_bf16(from_bf16(half)), half);
    }
  }
}

TEST(Arena, KeepsItsMemoryAcrossResets) {
  Arena arena;
  for (int i = 0; i < 5; ++i) arena.tensor({1 << 18});
  arena.reset();
  const std::size_t capacity = arena.capacity();
  for (int i = 0; i < 5; ++i) arena.tensor({1 << 18});
  EXPECT_EQ(arena.capacity(), capacity);
  const Arena::Mark mark = arena.mark();
  void* first = arena.tensor({10}).data();
  arena.rewind(mark);
  EXPECT_EQ(arena.tensor({10}).data(), first);
}

}  // namespace
}  // namespace regard
