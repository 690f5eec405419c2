#include "regard/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "regard/error.h"
#include "support/namespaces.h"
#include "support/resident.h"
#include "tensor/arena.h"

namespace regard::testing {
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

TEST(Tensor, SlicesOfAVectorAreContiguous) {
  const Tensor vector = Tensor::of({0, 1, 2, 3});
  const Tensor middle = vector.slice_columns(1, 3);
  EXPECT_TRUE(middle.contiguous());
  EXPECT_EQ(middle.reshape({2, 1}).at({1, 0}), 2);
  EXPECT_EQ(middle.slice_columns(1, 2).at({0}), 2);
  EXPECT_TRUE(vector.slice_rows(1, 3).contiguous());
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

// 64-bit integers are not converted through double, and no value is rounded twice.
TEST(DType, ConversionsRoundOnce) {
  Tensor large = Tensor::zeros({2}, DType::i64);
  large.i64()[0] = (std::int64_t{1} << 53) + 1, large.i64()[1] = std::numeric_limits<std::int64_t>::max();
  std::uint64_t back[2];
  std::memcpy(back, large.to(DType::u64).data(), sizeof back);
  EXPECT_EQ(back[0], (std::uint64_t{1} << 53) + 1);
  EXPECT_EQ(back[1], static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
  const auto half = [](double value, DType dtype) {
    Tensor one = Tensor::zeros({1}, DType::f64);
    one.f64()[0] = value;
    return one.to(dtype).to(DType::f64).f64()[0];
  };
  // These values lie just above and below the midpoint of two neighbours of the type. f32 cannot represent
  // the difference from the midpoint.
  EXPECT_EQ(half(1 + 0x1p-8 + 0x1p-40, DType::bf16), 1 + 0x1p-7);
  EXPECT_EQ(half(1 + 0x1p-8 - 0x1p-40, DType::bf16), 1.0);
  EXPECT_EQ(half(1 + 0x1p-8, DType::bf16), 1.0) << "to even";
  EXPECT_EQ(half(-1 - 0x1p-11 - 0x1p-40, DType::f16), -1 - 0x1p-10);
  EXPECT_EQ(half(-1 - 0x1p-11 + 0x1p-40, DType::f16), -1.0);
}

TEST(DType, ConversionsToIntegersKeepWhatFits) {
  const Tensor edges = Tensor::of({-128.9f, 127.9f, 0.5f, -0.5f}).to(DType::i8);
  const auto* bytes = static_cast<const std::int8_t*>(edges.data());
  EXPECT_EQ((std::vector<int>(bytes, bytes + 4)), (std::vector<int>{-128, 127, 0, 0}));
  Tensor least = Tensor::zeros({1}, DType::f64);
  least.f64()[0] = -0x1p63;
  EXPECT_EQ(least.to(DType::i64).i64()[0], std::numeric_limits<std::int64_t>::min());
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

TEST(Arena, ContainsWhatItAllocated) {
  Arena arena;
  EXPECT_EQ(arena.capacity(), 0u);
  const std::byte* const first = arena.allocate(100);
  ASSERT_EQ(arena.capacity(), std::size_t{1} << 20);  // one chunk
  EXPECT_TRUE(arena.contains(first));
  EXPECT_TRUE(arena.contains(first + arena.capacity() - 1));
  EXPECT_FALSE(arena.contains(first + arena.capacity()));
  EXPECT_FALSE(arena.contains(&arena));
  EXPECT_EQ(arena.touched(), 100u);
  arena.allocate(10);
  EXPECT_EQ(arena.touched(), 138u) << "aligned to 64 bytes";
  // The arena adds a larger chunk. touched() counts only the used part of the first chunk.
  const std::byte* const large = arena.allocate(5'000'000);
  EXPECT_EQ(arena.capacity(), (std::size_t{1} << 20) + 5'001'216);
  EXPECT_TRUE(arena.contains(first));
  EXPECT_TRUE(arena.contains(large + 4'999'999));
  EXPECT_EQ(arena.touched(), 138u + 5'000'000u);
}

// The memory of large tensors returns to the system when they are freed. Otherwise, packing weights one by
// one would keep the memory of the unpacked weights, too.
TEST(Tensor, LargeMemoryGoesBackWhenItIsFreed) {
  constexpr int kTensors = 16;
  const auto filled = [](std::int64_t mebibytes = 4) {
    Tensor tensor = Tensor::empty({mebibytes << 18});
    std::memset(tensor.data(), 1, static_cast<std::size_t>(mebibytes) << 20);
    return tensor;
  };
  filled(8);  // after 8 MiB are freed, malloc by default no longer returns smaller blocks to the system
  std::vector<Tensor> tensors;
  const double before = testing::resident_mib();
  for (int i = 0; i < kTensors; ++i) tensors.push_back(filled());
  const double held = testing::resident_mib();
  if (before == 0) GTEST_SKIP() << "the kernel does not say";
  EXPECT_GT(held - before, 4 * kTensors - 4);
  tensors.erase(tensors.begin(), tensors.end() - 1);  // the last tensor keeps the heap's top in use
  EXPECT_LT(testing::resident_mib() - before, 8);
}

TEST(Tensor, LargeZerosAreZeros) {
  const Tensor tensor = Tensor::zeros({3, 1 << 20});
  EXPECT_TRUE(std::all_of(tensor.f32(), tensor.f32() + tensor.elements(), [](float x) { return x == 0; }));
}

}  // namespace
}  // namespace regard::testing
