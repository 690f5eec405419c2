// Products of bf16 matrices have the bits that Intel's manual defines for the instructions, for any shape,
// layout and number of threads.
#include "kernels/bf16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/random.h"
#include "bf16_fixture.h"
#include "kernels/rows.h"
#include "support/bytes_in_use.h"
#include "support/throws.h"

namespace regard::kernels {
namespace {

float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

// Round to bf16, to nearest with ties to even, and return the value as f32.
float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t up = (bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u;
  return flushed(std::bit_cast<float>(up));
}

float fused(float a, float b, float sum) {
  return flushed(std::fmaf(a, b, sum));
}

// Return Σ a · b over k in the order of a path; a and b are rounded.
float ordered_sum(Bf16Path path, const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0.0f;
  for (std::size_t block = 0; block < a.size(); block += 32) {
    float even = 0.0f, odd = 0.0f;
    for (std::size_t i = block; i < std::min(block + 32, a.size()); i += 2) {
      const bool pair = i + 1 < a.size();
      if (path == Bf16Path::avx512_bf16) {
        sum = fused(pair ? a[i + 1] : 0.0f, pair ? b[i + 1] : 0.0f, sum);
        sum = fused(a[i], b[i], sum);
      } else {
        even = fused(a[i], b[i], even);
        if (pair) odd = fused(a[i + 1], b[i + 1], odd);
      }
    }
    if (path != Bf16Path::avx512_bf16) sum = flushed(sum + flushed(even + odd));
  }
  return sum;
}

struct Bf16Case {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, accumulate = false;
  std::int64_t extra_stride = 0;
};

// Return random operands of different magnitudes; some products and sums are subnormal.
std::vector<float> bf16_values(std::int64_t count, std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of("bf16_test")});
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value =
        static_cast<float>(stream.next_normal()) * std::ldexp(1.0f, static_cast<int>(stream.next_below(12)));
    if (stream.next_below(200) == 0) value *= 1e-37f;
  }
  return values;
}

struct Bf16Operands {
  explicit Bf16Operands(const Bf16Case& c)
      : lda((c.transpose_a ? c.m : c.k) + c.extra_stride),
        ldb((c.transpose_b ? c.k : c.n) + c.extra_stride),
        ldc(c.n + c.extra_stride),
        a(bf16_values((c.transpose_a ? c.k : c.m) * lda, 1)),
        b(bf16_values((c.transpose_b ? c.n : c.k) * ldb, 2)),
        before(bf16_values(c.m * ldc, 3)) {}
  std::int64_t lda, ldb, ldc;
  std::vector<float> a, b, before;

  Gemm problem(const Bf16Case& c, std::vector<float>& result) const {
    Gemm problem;
    problem.m = c.m, problem.n = c.n, problem.k = c.k;
    problem.a = a.data(), problem.lda = lda, problem.transpose_a = c.transpose_a;
    problem.b = b.data(), problem.ldb = ldb, problem.transpose_b = c.transpose_b;
    problem.c = result.data(), problem.ldc = ldc, problem.accumulate = c.accumulate;
    return problem;
  }
};

float element_of(const std::vector<float>& values, std::int64_t index) {
  return values[static_cast<std::size_t>(index)];
}

std::vector<float> reference(Bf16Path path, const Bf16Case& c, const Bf16Operands& o) {
  std::vector<float> result = o.before, a, b;
  for (std::int64_t row = 0; row < c.m; ++row)
    for (std::int64_t column = 0; column < c.n; ++column) {
      a.clear(), b.clear();
      for (std::int64_t step = 0; step < c.k; ++step) {
        a.push_back(rounded(element_of(o.a, c.transpose_a ? step * o.lda + row : row * o.lda + step)));
        b.push_back(rounded(element_of(o.b, c.transpose_b ? column * o.ldb + step : step * o.ldb + column)));
      }
      float& element = result[static_cast<std::size_t>(row * o.ldc + column)];
      const float sum = ordered_sum(path, a, b);
      element = c.accumulate ? sum + element : sum;
    }
  return result;
}

bool equal_values(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

std::vector<float> product(const Bf16Case& c, const Bf16Operands& o, int threads, bool packed = false) {
  ThreadPool pool(threads);
  std::vector<float> result = o.before;
  const Gemm problem = o.problem(c, result);
  if (!packed) {
    gemm_bf16(pool, problem);
    return result;
  }
  std::vector<std::byte> memory(static_cast<std::size_t>(bf16_packed_bytes(c.k, c.n)) + 64);
  void* start = memory.data();
  std::size_t room = memory.size();
  auto* aligned = static_cast<std::byte*>(std::align(64, room - 64, start, room));
  const Bf16Matrix matrix = pack_bf16(pool, problem, aligned);
  gemm_bf16(pool, problem, &matrix);
  return result;
}

class Bf16Test : public testing::EachBf16Path {};

TEST_P(Bf16Test, ASubnormalOperandIsZero) {
  each_path([](Bf16Path) {
    ThreadPool pool(1);
    const float largest = 0x1.fffffcp-127f, factor = 0x1p20f;
    float result = 1.0f;
    Gemm problem;
    problem.m = problem.n = problem.k = 1;
    problem.a = &largest, problem.lda = 1;
    problem.b = &factor, problem.ldb = 1;
    problem.c = &result, problem.ldc = 1;
    gemm_bf16(pool, problem);
    EXPECT_EQ(result, 0.0f);
  });
}

TEST_P(Bf16Test, BitsAreThoseOfTheManual) {
  each_path([](Bf16Path path) {
    for (const Bf16Case& shape :
         {Bf16Case{1, 1, 1}, Bf16Case{3, 5, 7}, Bf16Case{16, 16, 32}, Bf16Case{17, 49, 33},
          Bf16Case{33, 48, 64}, Bf16Case{40, 100, 95}, Bf16Case{65, 31, 130}})
      for (int options = 0; options < 8; ++options) {
        Bf16Case c = shape;
        c.transpose_a = (options & 1) != 0, c.transpose_b = (options & 2) != 0;
        c.accumulate = (options & 4) != 0, c.extra_stride = options % 3;
        const Bf16Operands o(c);
        const std::vector<float> expected = reference(path, c, o);
        EXPECT_TRUE(equal_values(product(c, o, 1), expected))
            << c.m << " " << c.n << " " << c.k << " " << options;
        EXPECT_TRUE(equal_values(product(c, o, 1, true), expected)) << "packed";
      }
  });
}

// An element does not depend on threads or on the other rows. Negative control: another order of k gives
// other bits.
TEST_P(Bf16Test, SameBitsForAnyThreadsAndRows) {
  each_path([](Bf16Path) {
    Bf16Case c{150, 200, 160};
    const Bf16Operands o(c);
    const std::vector<float> all = product(c, o, 1);
    for (const int threads : {2, 3, 8}) EXPECT_TRUE(equal_values(all, product(c, o, threads))) << threads;
    for (const std::int64_t rows : {1, 9, 16, 20}) {
      c.m = rows;
      const std::vector<float> some = product(c, o, 2);
      EXPECT_EQ(std::memcmp(some.data(), all.data(), static_cast<std::size_t>(rows * o.ldc) * sizeof(float)),
                0);
    }
    c.m = 150;
    Bf16Operands swapped = o;
    for (std::int64_t row = 0; row < c.m; ++row)
      std::swap_ranges(swapped.a.begin() + row * c.k, swapped.a.begin() + row * c.k + 80,
                       swapped.a.begin() + row * c.k + 80);
    std::swap_ranges(swapped.b.begin(), swapped.b.begin() + 80 * c.n, swapped.b.begin() + 80 * c.n);
    EXPECT_FALSE(equal_values(all, product(c, swapped, 1)));
  });
}

// The epilogue is the same as in gemm(): bias, the value before the activation, activation, residual.
TEST_P(Bf16Test, AppliesTheEpilogue) {
  each_path([](Bf16Path) {
    const Bf16Case c{35, 70, 40};
    const Bf16Operands o(c);
    ThreadPool pool(2);
    const std::vector<float> plain = product(c, o, 1), bias = bf16_values(c.n, 4), residual = o.before;
    std::vector<float> result(plain.size()), pre(plain.size());
    Gemm problem = o.problem(c, result);
    problem.epilogue = {bias.data(), pre.data(), Activation::relu, residual.data(), c.n};
    gemm_bf16(pool, problem);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const float before = plain[i] + bias[i % static_cast<std::size_t>(c.n)];
      ASSERT_EQ(pre[i], before);
      ASSERT_EQ(result[i], std::max(before, 0.0f) + residual[i]);
    }
  });
}

std::vector<std::uint16_t> stored(ThreadPool& pool, const std::vector<float>& values) {
  std::vector<std::uint16_t> halves(values.size());
  round_to_bf16(pool, values.data(), halves.data(), std::ssize(values));
  return halves;
}

// The conversion rounds as the products do, also for ties, subnormal numbers, infinity and NaN.
TEST_P(Bf16Test, RoundsAsTheProductsDo) {
  ThreadPool pool(2);
  std::vector<float> values = bf16_values(20'003, 8);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, -0.0f, 1e-40f, -1e-40f, 0x1.fffffcp-127f, 0x1p-126f, 0x1.018p0f, 0x1.01p0f,
                            0x1.03p0f, 3.4e38f, infinity, -infinity})
    values.push_back(value);
  const std::vector<std::uint16_t> halves = stored(pool, values);
  std::vector<float> wide(values.size());
  widen_bf16(pool, halves.data(), wide.data(), std::ssize(wide));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float expected = rounded(flushed(values[i]));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(expected)) << values[i];
  }
  const std::vector<std::uint16_t> nan = stored(pool, {std::nanf("")});
  EXPECT_EQ(nan[0] & 0x7FC0u, 0x7FC0u);
}

// With operands and results stored as bf16, the bits equal the product of f32 operands rounded to bf16.
TEST_P(Bf16Test, StoredOperandsAndResultsHaveTheSameBits) {
  each_path([](Bf16Path) {
    for (const Bf16Case& shape :
         {Bf16Case{1, 1, 1}, Bf16Case{17, 49, 33}, Bf16Case{65, 100, 95}, Bf16Case{48, 60, 96}})
      for (int options = 0; options < 4; ++options) {
        Bf16Case c = shape;
        c.transpose_a = (options & 1) != 0, c.transpose_b = (options & 2) != 0, c.extra_stride = options;
        const Bf16Operands o(c);
        ThreadPool pool(3);
        const std::vector<std::uint16_t> a = stored(pool, o.a), b = stored(pool, o.b);
        const std::vector<float> plain = product(c, o, 1), bias = bf16_values(c.n, 4);
        std::vector<float> result = o.before, pre(plain.size());
        Gemm problem = o.problem(c, result);
        problem.a = problem.b = nullptr;
        gemm_bf16(pool, problem, nullptr, {.a = a.data(), .b = b.data()});
        EXPECT_TRUE(equal_values(result, plain)) << c.m << " " << options;
        problem.epilogue = {.bias = bias.data(), .pre = pre.data(), .activation = Activation::gelu};
        gemm_bf16(pool, problem, nullptr, {.a = a.data(), .b = b.data()});
        problem.c = problem.epilogue.pre = nullptr;
        std::vector<std::uint16_t> halves = stored(pool, o.before), pre_halves = stored(pool, pre);
        const std::vector<std::uint16_t> pre_expected = pre_halves;
        // The activation reads the rounded values.
        widen_bf16(pool, pre_expected.data(), pre.data(), std::ssize(pre));
        for (std::int64_t row = 0; row < c.m; ++row)
          activate(pool, Activation::gelu, pre.data() + row * o.ldc, result.data() + row * o.ldc, c.n);
        gemm_bf16(pool, problem, nullptr,
                  {.a = a.data(), .b = b.data(), .c = halves.data(), .pre = pre_halves.data()});
        EXPECT_EQ(halves, stored(pool, result)) << c.m << " " << options;
        EXPECT_EQ(pre_halves, pre_expected);
      }
  });
}

// Dropout in the epilogue gives the same bits as separate steps on the f32 product: activation, dropout(),
// rounding. Their backward passes also give the same bits.
TEST_P(Bf16Test, DropsInTheEpilogueAndItsBackwardPass) {
  each_path([](Bf16Path) {
    const Bf16Case c{53, 150, 64};
    const Bf16Operands o(c);
    ThreadPool pool(2);
    const auto size = static_cast<std::size_t>(c.m * c.n);
    std::vector<std::uint64_t> sequence(53, (std::uint64_t{5} << 32) + 3);
    std::vector<std::int32_t> position(53);
    for (std::size_t row = 0; row < 53; ++row)
      sequence[row] += row / 20, position[row] = static_cast<std::int32_t>(row % 20);
    Dropout dropout;
    dropout.key = {4, 2, place_of("inner")}, dropout.rate = 0.3f;
    dropout.sequence_index = sequence.data(), dropout.position = position.data();
    dropout.rows = c.m, dropout.columns = c.n;
    const auto drop = [&](std::vector<float>& values) {
      dropout.x = dropout.y = values.data();
      kernels::dropout(pool, dropout);
    };
    // Compute the expected results from the values before the activation, as they are stored in bf16.
    const std::vector<float> sums = product(c, o, 1);
    const std::vector<std::uint16_t> pre = stored(pool, sums);
    std::vector<float> wide(size), activated(size), gradient = sums;
    widen_bf16(pool, pre.data(), wide.data(), std::ssize(wide));
    activate(pool, Activation::gelu, wide.data(), activated.data(), std::ssize(wide));
    drop(activated), drop(gradient);
    activate_backward(pool, Activation::gelu, wide.data(), gradient.data(), gradient.data(),
                      std::ssize(wide));

    std::vector<float> unused;
    Gemm problem = o.problem(c, unused);
    problem.epilogue.activation = Activation::gelu;
    std::vector<std::uint16_t> result(size), kept(size);
    gemm_bf16(pool, problem, nullptr, {.c = result.data(), .pre = kept.data(), .dropout = &dropout});
    EXPECT_EQ(kept, pre);
    EXPECT_EQ(result, stored(pool, activated));
    EXPECT_GT(std::count(result.begin(), result.end(), 0), std::ssize(result) / 5);
    std::vector<std::uint16_t> in_place = pre, again(size);
    gemm_bf16(pool, problem, nullptr,
              {.c = in_place.data(), .pre = in_place.data(), .dropout = &dropout, .activated = again.data()});
    EXPECT_EQ(again, result);
    EXPECT_EQ(in_place, stored(pool, gradient));
  });
}

TEST_P(Bf16Test, SumsStoredRows) {
  ThreadPool pool(3);
  const std::int64_t rows = 300, columns = 37;
  const std::vector<std::uint16_t> halves = stored(pool, bf16_values(rows * columns, 9));
  std::vector<float> wide(halves.size()), expected(37, 1.0f), sums(37, 1.0f);
  widen_bf16(pool, halves.data(), wide.data(), std::ssize(wide));
  sum_rows(pool, wide.data(), columns, rows, columns, expected.data());
  sum_bf16_rows(pool, halves.data(), rows, columns, sums.data());
  EXPECT_TRUE(equal_values(sums, expected));
}

// The packed rows of a task have at most 512 KiB, or 32 rows if these need more. The scratch memory contains
// the packed rows and the packed B, one panel of 48 columns here. It is rounded up, to less than 2.5 times
// this size.
TEST_P(Bf16Test, PacksAsManyRowsAsFitIntoTheCache) {
  each_path([](Bf16Path) {
    for (const auto& [m, k, packed] : {std::array{33, 4096, 64}, {300, 4096, 64}, {33, 16384, 32}}) {
      std::vector<float> a(static_cast<std::size_t>(m * k), 1.0f), b(static_cast<std::size_t>(k), 1.0f);
      std::vector<float> c(static_cast<std::size_t>(m));
      Gemm problem;
      problem.m = m, problem.n = 1, problem.k = k;
      problem.a = a.data(), problem.lda = k, problem.b = b.data(), problem.ldb = 1;
      problem.c = c.data(), problem.ldc = 1;
      ThreadPool pool(1);
      const std::size_t before = testing::bytes_in_use();
      gemm_bf16(pool, problem);
      const std::size_t scratch = testing::bytes_in_use() - before;
      EXPECT_LT(2 * scratch, static_cast<std::size_t>(5 * 2 * k * (packed + 48))) << m << " " << k;
      EXPECT_EQ(c, std::vector<float>(c.size(), static_cast<float>(k)));
    }
  });
}

TEST_P(Bf16Test, EmptySizesGiveZerosOrNothing) {
  each_path([](Bf16Path) {
    Bf16Case c{3, 4, 0};
    const Bf16Operands o(c);
    EXPECT_TRUE(equal_values(product(c, o, 1), std::vector<float>(12, 0.0f)));
    ThreadPool pool(1);
    gemm_bf16(pool, {});
  });
}

// If bf16 is slower than f32 on this processor or is not supported, it is rejected with an error that gives
// the reason.
TEST_P(Bf16Test, IsRefusedWithoutFastInstructions) {
  if (default_bf16_path()) return require_bf16("training.precision = \"bf16\"");
  if (!bf16_paths().empty()) {
    EXPECT_REGARD_ERROR(require_bf16("training.precision = \"bf16\""), ErrorKind::usage,
                        "is slower than f32 on this processor");
    EXPECT_REGARD_ERROR(active_bf16_path(), ErrorKind::usage, "REGARD_ISA=avx512");
    set_bf16_path(bf16_paths().back());
    return require_bf16("training.precision = \"bf16\"");
  }
  EXPECT_REGARD_ERROR(require_bf16("training.precision = \"bf16\""), ErrorKind::usage,
                      "needs a processor with bf16 instructions");
  EXPECT_REGARD_ERROR(set_bf16_path(Bf16Path::amx_bf16), ErrorKind::usage, "not available");
}

REGARD_EACH_ISA(Bf16Test);

}  // namespace
}  // namespace regard::kernels
