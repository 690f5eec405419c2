// int8 products: exact integer sums on every path that the machine supports, extreme values included.
#include "kernels/int8.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "kernels/int8_table.h"
#include "kernels/isa_fixture.h"
#include "kernels/tile_shapes.h"
#include "regard/error.h"

namespace regard::kernels {
namespace {

using testing::EachIsa;

struct Int8Test : EachIsa {};

std::size_t element_at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

// Operands of an int8 product. `x` contains the rows of `a` as floats that quantise to the same integers.
struct QuantisedOperands {
  std::int64_t m, n, k;
  std::vector<std::int8_t> a, b;  // [m, k], [n, k]
  std::vector<float> x, scale;    // [m, k], [n]

  QuantisedOperands(std::int64_t rows, std::int64_t columns, std::int64_t length)
      : m(rows),
        n(columns),
        k(length),
        a(element_at(m * k)),
        b(element_at(n * k)),
        x(a.size()),
        scale(element_at(n)) {
    for (std::int64_t i = 0; i < n; ++i) scale[element_at(i)] = 0.25f + static_cast<float>(i % 7) * 0.125f;
  }
  void finish() {
    // Make the quantisation step of each row 1 and its midpoint 0: the row contains 127 and −127. A row of
    // one number needs no −127, because it is quantised without an error.
    for (std::int64_t row = 0; row < m && k > 0; ++row) {
      a[element_at(row * k)] = 127;
      if (k > 1) a[element_at(row * k + 1)] = -127;
    }
    for (std::size_t i = 0; i < a.size(); ++i) x[i] = static_cast<float>(a[i]);
  }
  // Return float(Σ a b) · scale, the result that the header specifies.
  float expected(std::int64_t row, std::int64_t column) const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i)
      sum += std::int64_t{a[element_at(row * k + i)]} * b[element_at(column * k + i)];
    return static_cast<float>(static_cast<std::int32_t>(sum)) * scale[element_at(column)];
  }
};

QuantisedOperands random_operands(std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed) {
  QuantisedOperands o(m, n, k);
  RandomStream stream({seed, 0, place_of("int8_test")});
  const auto draw = [&] { return static_cast<std::int8_t>(static_cast<int>(stream.next_below(255)) - 127); };
  for (std::int8_t& value : o.a) value = draw();
  for (std::int8_t& value : o.b) value = draw();
  o.finish();
  return o;
}

PackedMatrix packed_of(ThreadPool& pool, const QuantisedOperands& o) {
  const MatrixPart part{o.b.data(), o.n, o.k, o.scale.data()};
  return pack(pool, {WeightType::i8, o.k, true, {&part, 1}});
}

std::vector<float> product(ThreadPool& pool, const QuantisedOperands& o, const PackedMatrix& packed,
                           const Epilogue& epilogue = {}) {
  std::vector<float> c(element_at(o.m * o.n), -1.0f);
  Gemm problem;
  problem.m = o.m, problem.n = o.n, problem.k = o.k;
  problem.a = o.x.data(), problem.lda = o.k;
  problem.packed = &packed;
  problem.c = c.data(), problem.ldc = o.n;
  problem.epilogue = epilogue;
  gemm(pool, problem);
  return c;
}

void expect_exact(const QuantisedOperands& o, int threads = 1) {
  ThreadPool pool(threads);
  const PackedMatrix packed = packed_of(pool, o);
  for (const Int8Path path : available_int8_paths()) {
    set_int8_path(path);
    const std::vector<float> c = product(pool, o, packed);
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < o.m; ++row)
      for (std::int64_t column = 0; column < o.n; ++column)
        if (c[element_at(row * o.n + column)] != o.expected(row, column)) ++wrong;
    EXPECT_EQ(wrong, 0) << name_of(path) << " " << o.m << "x" << o.n << "x" << o.k << ", " << threads
                        << " threads";
  }
}

TEST_P(Int8Test, SumsAreExactForEverySize) {
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {1, 16, 4},
                                                                        {2, 17, 3},
                                                                        {3, 48, 64},
                                                                        {9, 49, 65},
                                                                        {8, 96, 127},
                                                                        {17, 100, 130},
                                                                        {33, 33, 70},
                                                                        {1, 513, 512},
                                                                        {64, 40, 9},
                                                                        {5, 7, 2050},
                                                                        {31, 145, 68}})
    expect_exact(random_operands(m, n, k, 1));
  expect_exact(random_operands(150, 300, 257, 2), 3);
  expect_exact(random_operands(700, 50, 900, 3), 2);
}

// The sum of two products fits in 16 bits if both factors are at most 127 (2 · 127 · 127), but saturates if
// one is 255 (2 · 255 · 127).
TEST_P(Int8Test, ExtremesDoNotSaturate) {
  for (const int a : {127, -127})
    for (const int b : {127, -127})
      for (const bool alternate : {false, true}) {
        QuantisedOperands o(9, 50, 1024);
        for (std::size_t i = 0; i < o.a.size(); ++i)
          o.a[i] = static_cast<std::int8_t>(alternate && i % 2 != 0 ? -a : a);
        for (std::size_t i = 0; i < o.b.size(); ++i)
          o.b[i] = static_cast<std::int8_t>(alternate && i % 4 < 2 ? -b : b);
        o.finish();
        expect_exact(o);
      }
  QuantisedOperands longest(2, 20, kLongestInt8Sum);
  std::fill(longest.a.begin(), longest.a.end(), std::int8_t{127});
  std::fill(longest.b.begin(), longest.b.end(), std::int8_t{127});
  longest.finish();
  expect_exact(longest);
  std::fill(longest.b.begin(), longest.b.end(), std::int8_t{-127});
  expect_exact(longest);
}

TEST_P(Int8Test, WhatNoPathMultipliesIsRefused) {
  ThreadPool pool(1);
  QuantisedOperands o = random_operands(1, 3, 8, 1);
  o.b[5] = -128;
  EXPECT_THROW(packed_of(pool, o), Error);
  EXPECT_THROW(packed_of(pool, QuantisedOperands(1, 1, kLongestInt8Sum + 1)), Error);
}

// A row's bits do not depend on the rows beside it or on the number of threads.
TEST_P(Int8Test, RowsStandAlone) {
  const QuantisedOperands all = random_operands(70, 130, 200, 5);
  ThreadPool one(1), three(3);
  const PackedMatrix packed = packed_of(one, all);
  const std::vector<float> together = product(three, all, packed);
  for (std::int64_t row = 0; row < all.m; ++row) {
    QuantisedOperands alone(1, all.n, all.k);
    std::copy_n(all.x.begin() + row * all.k, all.k, alone.x.begin());
    const std::vector<float> c = product(one, alone, packed);
    EXPECT_EQ(std::memcmp(c.data(), together.data() + row * all.n, element_at(all.n) * sizeof(float)), 0)
        << row;
  }
}

TEST_P(Int8Test, RowsAreQuantisedToNearest) {
  ThreadPool pool(1);
  const std::vector<float> x{-2.54f, 1.27f, 0.01f, 0.03f, -0.05f, 0.0f, 2.0f, 0.9999f, 0.02f, 0.5f,
                             0,      0,     0,     0,     0,      0,    0,    0,       0,     0,
                             1e-32f, 0,     0,     0,     0,      0,    0,    0,       0,     0};
  std::vector<std::int8_t> q(30);
  std::vector<float> scale(3);
  quantise_rows(pool, x.data(), 10, 3, 10, q.data(), scale.data());
  EXPECT_FLOAT_EQ(scale[0], 0.02f);
  EXPECT_EQ(scale[1], 0.0f);
  EXPECT_EQ(scale[2], 0.0f);
  EXPECT_EQ(q[0], -127);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(q[i], static_cast<int>(std::nearbyint(x[i] * (127.0f / 2.54f)))) << i;
  for (std::size_t i = 10; i < 30; ++i) EXPECT_EQ(q[i], 0);
}

// The rounding error of a product depends on the range from a row's minimum to its maximum, not on its
// distance from zero. Rows of equal values have no rounding error.
TEST_P(Int8Test, RowsAreQuantisedAroundTheirMiddle) {
  ThreadPool pool(1);
  QuantisedOperands o = random_operands(6, 37, 83, 12);
  RandomStream stream({5, 0, place_of("middles")});
  const std::vector<float> ends{0.0f, 1.0f, -7.0f,  -5.0f, 1000.0f, 1000.0f + 0x1p-14f,
                                3.0f, 3.0f, -1e30f, 3e30f, -0.17f,  12.0f};
  for (std::int64_t row = 0; row < o.m; ++row)
    for (std::int64_t i = 0; i < o.k; ++i) {
      const float least = ends[element_at(2 * row)], most = ends[element_at(2 * row + 1)],
                  share = stream.next_uniform();
      o.x[element_at(row * o.k + i)] = i == 0 ? most : i == 1 ? least : least * (1.0f - share) + most * share;
    }
  const PackedMatrix packed = packed_of(pool, o);
  for (const Int8Path path : available_int8_paths()) {
    set_int8_path(path);
    const std::vector<float> c = product(pool, o, packed);
    for (std::int64_t row = 0; row < o.m; ++row)
      for (std::int64_t column = 0; column < o.n; ++column) {
        const double least = ends[element_at(2 * row)], most = ends[element_at(2 * row + 1)];
        double exact = 0, weights = 0, size = 0;
        for (std::int64_t i = 0; i < o.k; ++i) {
          const double weight =
              static_cast<double>(o.b[element_at(column * o.k + i)]) * o.scale[element_at(column)];
          exact += static_cast<double>(o.x[element_at(row * o.k + i)]) * weight;
          weights += std::abs(weight);
          size += std::abs(static_cast<double>(o.x[element_at(row * o.k + i)]) * weight);
        }
        EXPECT_NEAR(c[element_at(row * o.n + column)], exact,
                    weights * (most - least) / 254 * 0.5001 + size * 4e-7)
            << name_of(path) << ", row " << row;
      }
  }
}

TEST_P(Int8Test, ARowThatIsNotFiniteShows) {
  ThreadPool pool(1);
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    QuantisedOperands o = random_operands(3, 20, 70, 13);
    o.x[element_at(o.k + 69)] = bad;
    const std::vector<float> c = product(pool, o, packed_of(pool, o));
    for (std::int64_t i = 0; i < o.m * o.n; ++i) EXPECT_EQ(std::isnan(c[element_at(i)]), i / o.n == 1) << i;
  }
}

// The largest rounding error is half a step, and a row with a non-finite value has scale NaN.
TEST_P(Int8Test, DequantisedRowsAreWithinHalfAStep) {
  ThreadPool pool(2);
  const std::int64_t rows = 20, columns = 77;
  RandomStream stream({4, 0, place_of("rows")});
  std::vector<float> x(element_at(rows * columns)), y(x.size()), scale(element_at(rows));
  for (float& value : x) value = stream.next_uniform() - 0.5f;
  std::vector<std::int8_t> q(x.size());
  quantise_rows(pool, x.data(), columns, rows, columns, q.data(), scale.data());
  std::vector<std::int32_t> ids(element_at(rows));
  for (std::int64_t i = 0; i < rows; ++i) ids[element_at(i)] = static_cast<std::int32_t>((i * 7) % rows);
  dequantise_rows(pool, q.data(), scale.data(), ids.data(), rows, columns, 2.0f, y.data());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t c = 0; c < columns; ++c)
      EXPECT_NEAR(y[element_at(i * columns + c)], 2.0f * x[element_at(ids[element_at(i)] * columns + c)],
                  1.001f * scale[element_at(ids[element_at(i)])]);
  x[3] = std::numeric_limits<float>::infinity();
  x[element_at(columns + 1)] = std::numeric_limits<float>::quiet_NaN();
  quantise_rows(pool, x.data(), columns, rows, columns, q.data(), scale.data());
  EXPECT_TRUE(std::isnan(scale[0]) && std::isnan(scale[1]) && std::isfinite(scale[2]));
}

TEST_P(Int8Test, EpilogueFollowsTheSum) {
  const QuantisedOperands o = random_operands(5, 53, 40, 8);
  ThreadPool pool(1);
  const PackedMatrix packed = packed_of(pool, o);
  std::vector<float> bias(element_at(o.n)), residual(element_at(o.m * o.n)), pre(residual.size());
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i) * 10.0f - 200.0f;
  for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = static_cast<float>(i);
  Epilogue epilogue;
  epilogue.bias = bias.data(), epilogue.pre = pre.data();
  epilogue.activation = Activation::relu;
  epilogue.residual = residual.data(), epilogue.residual_stride = o.n;
  const std::vector<float> c = product(pool, o, packed, epilogue);
  for (std::int64_t row = 0; row < o.m; ++row)
    for (std::int64_t column = 0; column < o.n; ++column) {
      const auto i = element_at(row * o.n + column);
      EXPECT_EQ(pre[i], o.expected(row, column) + bias[element_at(column)]);
      EXPECT_EQ(c[i], std::max(0.0f, pre[i]) + residual[i]);
    }
}

TEST_P(Int8Test, PackedColumnsComeBack) {
  ThreadPool pool(2);
  const QuantisedOperands o = random_operands(1, 101, 39, 9);
  const PackedMatrix packed = packed_of(pool, o);
  const std::vector<std::int32_t> ids{100, 0, 48, 16, 47, 96};
  std::vector<float> y(ids.size() * element_at(o.k));
  unpack_columns(pool, packed, ids.data(), std::ssize(ids), 2.0f, y.data());
  for (std::size_t row = 0; row < ids.size(); ++row)
    for (std::int64_t i = 0; i < o.k; ++i)
      EXPECT_EQ(
          y[row * element_at(o.k) + element_at(i)],
          static_cast<float>(o.b[element_at(ids[row] * o.k + i)]) * (2.0f * o.scale[element_at(ids[row])]));
}

REGARD_EACH_ISA(Int8Test);

// AMX instructions in portable code, so that the loops over tiles are tested on processors without AMX.
namespace emulated {

struct Tiles {
  static inline TileShapes shapes;
  static inline std::int8_t tile_bytes[8][16][64];

  static void configure(const TileShapes& wanted) {
    shapes = wanted;
    std::memset(tile_bytes, 0x55, sizeof tile_bytes);
  }
  static void release() { shapes = TileShapes(); }
  template <int tile>
  static void zero() {
    std::memset(tile_bytes[tile], 0, sizeof tile_bytes[tile]);
  }
  template <int tile>
  static void load(const std::int8_t* from, std::int64_t stride) {
    zero<tile>();
    for (int row = 0; row < shapes.rows[tile]; ++row)
      std::memcpy(tile_bytes[tile][row], from + row * stride, shapes.row_bytes[tile]);
  }
  template <int sum, int a, int b>
  static void dot() {
    EXPECT_EQ(shapes.rows[sum], shapes.rows[a]);
    EXPECT_EQ(shapes.row_bytes[a], 4 * shapes.rows[b]);
    EXPECT_EQ(shapes.row_bytes[sum], shapes.row_bytes[b]);
    for (int row = 0; row < shapes.rows[sum]; ++row)
      for (int column = 0; column < shapes.row_bytes[sum] / 4; ++column) {
        std::int32_t total;
        std::memcpy(&total, tile_bytes[sum][row] + 4 * column, 4);
        for (int i = 0; i < shapes.row_bytes[a]; ++i)
          total += tile_bytes[a][row][i] * tile_bytes[b][i / 4][4 * column + i % 4];
        std::memcpy(tile_bytes[sum][row] + 4 * column, &total, 4);
      }
  }
  template <int tile>
  static void store(std::int32_t* to, std::int64_t stride) {
    for (int row = 0; row < shapes.rows[tile]; ++row)
      std::memcpy(reinterpret_cast<std::int8_t*>(to) + row * stride, tile_bytes[tile][row],
                  shapes.row_bytes[tile]);
  }
};

#include "kernels/simd/int8_amx_tile.h"

}  // namespace emulated

TEST(Int8Amx, TilesCoverEveryBlock) {
  RandomStream stream({6, 0, place_of("amx")});
  for (const std::int64_t rows : {1, 16, 17, 32})
    for (const std::int64_t vectors : {1, 2, 3})
      for (const std::int64_t groups : {1, 15, 16, 17, 40}) {
        const std::int64_t width = vectors * 16, bytes = groups * 4;
        std::vector<std::int8_t> a(element_at(rows * bytes)), b(element_at(groups * width * 4));
        for (std::int8_t& value : a) value = static_cast<std::int8_t>(stream.next_below(255));
        for (std::int8_t& value : b) value = static_cast<std::int8_t>(stream.next_below(255));
        std::vector<std::int32_t> sums(element_at(rows * width));
        Int8Block block{rows, vectors, groups, a.data(), bytes, b.data(), sums.data()};
        emulated::multiply_in_tiles<emulated::Tiles>(block);
        for (std::int64_t row = 0; row < rows; ++row)
          for (std::int64_t column = 0; column < width; ++column) {
            std::int32_t expected = 0;
            for (std::int64_t i = 0; i < bytes; ++i)
              expected +=
                  a[element_at(row * bytes + i)] * b[element_at((i / 4 * width + column) * 4 + i % 4)];
            ASSERT_EQ(sums[element_at(row * width + column)], expected)
                << rows << " " << vectors << " " << groups << " at " << row << ", " << column;
          }
      }
}

}  // namespace
}  // namespace regard::kernels
