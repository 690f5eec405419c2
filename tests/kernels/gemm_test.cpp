// Bits of matrix products: every element is one chain of fused multiply-adds over k, in order.
#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"

namespace regard::kernels {
namespace {

std::vector<float> random_values(std::int64_t count, std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of("gemm_test")});
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = stream.next_uniform() - 0.5f;
  return values;
}

float at(const std::vector<float>& values, std::int64_t index) {
  return values[static_cast<std::size_t>(index)];
}

struct Case {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, accumulate = false, packed = false;
  std::int64_t extra_stride = 0;
  int threads = 1;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.m << "x" << c.n << "x" << c.k << (c.transpose_a ? " At" : " A") << (c.transpose_b ? " Bt" : " B")
       << (c.accumulate ? " accumulate" : "") << (c.packed ? " packed" : "") << " stride +" << c.extra_stride
       << " threads " << c.threads;
}

// Operands of a case, and the content of C before the product.
struct Operands {
  explicit Operands(const Case& c)
      : lda((c.transpose_a ? c.m : c.k) + c.extra_stride),
        ldb((c.transpose_b ? c.k : c.n) + c.extra_stride),
        ldc(c.n + c.extra_stride),
        a(random_values((c.transpose_a ? c.k : c.m) * lda, 1)),
        b(random_values((c.transpose_b ? c.n : c.k) * ldb, 2)),
        c_before(random_values(c.m * ldc, 3)) {}
  std::int64_t lda, ldb, ldc;
  std::vector<float> a, b, c_before;
};

// The reference takes most of the time, so it is compiled with the processor's multiply-add and without
// sanitizers.
#if defined(__x86_64__)
#define REFERENCE __attribute__((target("fma"), no_sanitize("address", "undefined")))
#else
#define REFERENCE __attribute__((no_sanitize("address", "undefined")))
#endif

// One chain of std::fma over `steps` elements. `split` > 0 sums the chain in parts, which the kernels must
// not do.
REFERENCE float chain(float sum, const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride,
                      std::int64_t steps, std::int64_t split) {
  float finished = 0.0f;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (split > 0 && step > 0 && step % split == 0) {
      finished += sum;
      sum = 0.0f;
    }
    sum = std::fma(a[step * a_stride], b[step * b_stride], sum);
  }
  return split > 0 ? finished + sum : sum;
}

// Reference implementation: every element is a separate chain.
std::vector<float> chains(const Case& c, const Operands& o, std::int64_t split = 0) {
  std::vector<float> result = o.c_before;
  for (std::int64_t row = 0; row < c.m; ++row) {
    for (std::int64_t column = 0; column < c.n; ++column) {
      float& element = result[static_cast<std::size_t>(row * o.ldc + column)];
      element = chain(c.accumulate ? element : 0.0f, o.a.data() + (c.transpose_a ? row : row * o.lda),
                      c.transpose_a ? o.lda : 1, o.b.data() + (c.transpose_b ? column * o.ldb : column),
                      c.transpose_b ? 1 : o.ldb, c.k, split);
    }
  }
  return result;
}

Gemm problem_of(const Case& c, const Operands& o, std::vector<float>& result) {
  Gemm problem;
  problem.m = c.m, problem.n = c.n, problem.k = c.k;
  problem.a = o.a.data(), problem.lda = o.lda, problem.transpose_a = c.transpose_a;
  problem.b = o.b.data(), problem.ldb = o.ldb, problem.transpose_b = c.transpose_b;
  problem.c = result.data(), problem.ldc = o.ldc, problem.accumulate = c.accumulate;
  return problem;
}

std::vector<float> product(const Case& c, const Operands& o) {
  ThreadPool pool(c.threads);
  std::vector<float> result = o.c_before;
  Gemm problem = problem_of(c, o, result);
  PackedMatrix packed;
  if (c.packed) {
    packed = pack(pool, problem.b, problem.ldb, c.transpose_b, c.k, c.n);
    problem.b = nullptr;
    problem.packed = &packed;
  }
  gemm(pool, problem);
  return result;
}

bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() &&
         (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
}

class GemmTest : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    before_ = active();
    set_active(GetParam());
  }
  void TearDown() override { set_active(before_); }

 private:
  Isa before_ = Isa::avx2;
};

void expect_chains(Case c) {
  const Operands operands(c);
  EXPECT_TRUE(same_bits(product(c, operands), chains(c, operands))) << ::testing::PrintToString(c);
}

// Call `body` for every combination of the two transposes, accumulation and packing.
template <class Body>
void for_each_form(Case c, Body&& body) {
  for (int form = 0; form < 16; ++form) {
    c.transpose_a = (form & 1) != 0, c.transpose_b = (form & 2) != 0;
    c.accumulate = (form & 4) != 0, c.packed = (form & 8) != 0;
    body(c);
  }
}

TEST_P(GemmTest, SmallSizesAreFmaChains) {
  RandomStream stream({7, 0, place_of("sizes")});
  for (int repetition = 0; repetition < 150; ++repetition) {
    Case c;
    c.m = static_cast<std::int64_t>(stream.next_below(41));
    c.n = static_cast<std::int64_t>(stream.next_below(60));
    c.k = static_cast<std::int64_t>(stream.next_below(41));
    c.extra_stride = static_cast<std::int64_t>(stream.next_below(4));
    for_each_form(c, expect_chains);
  }
}

TEST_P(GemmTest, EverySizeOfATileIsAnFmaChain) {
  for (std::int64_t m = 0; m <= 40; ++m)
    for (std::int64_t n = 0; n <= 100; n += m % 3 + 1)
      expect_chains({.m = m, .n = n, .k = 5, .transpose_a = m % 2 == 0, .transpose_b = n % 2 == 0});
}

TEST_P(GemmTest, LargeSizesAreFmaChains) {
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{130, 150, 600},
                                {97, 48, 1031},
                                {300, 517, 70},
                                {1, 1000, 700},
                                {7, 900, 513},
                                {30, 95, 900},
                                {200, 1, 513}})
    for_each_form({.m = m, .n = n, .k = k, .extra_stride = 3, .threads = 2}, expect_chains);
}

TEST_P(GemmTest, ColumnsBeyondOnePhaseAreFmaChains) {
  expect_chains({.m = 26, .n = 9000, .k = 200, .transpose_b = true, .threads = 2});
}

TEST_P(GemmTest, TransposedRowsAPageApartAreFmaChains) {
  for_each_form({.m = 1021, .n = 20, .k = 530, .extra_stride = 3, .threads = 2}, expect_chains);
}

TEST_P(GemmTest, NegativeControlASplitChainHasOtherBits) {
  const Case c{.m = 20, .n = 40, .k = 64};
  const Operands operands(c);
  EXPECT_FALSE(same_bits(product(c, operands), chains(c, operands, 32)));
}

TEST_P(GemmTest, ThreadsDoNotChangeBits) {
  for_each_form({.m = 200, .n = 210, .k = 500}, [](Case c) {
    const Operands operands(c);
    const std::vector<float> alone = product(c, operands);
    for (int threads : {2, 3, 8}) {
      c.threads = threads;
      EXPECT_TRUE(same_bits(product(c, operands), alone)) << ::testing::PrintToString(c);
    }
  });
}

TEST_P(GemmTest, ARowDoesNotDependOnItsCompany) {
  for_each_form({.m = 150, .n = 130, .k = 400, .threads = 2}, [](Case c) {
    if (c.transpose_a) return;
    const Operands all(c);
    const std::vector<float> together = product(c, all);
    for (const auto& [begin, rows] :
         {std::array<std::int64_t, 2>{0, 1}, {77, 1}, {149, 1}, {3, 2}, {20, 33}}) {
      Case subset = c;
      subset.m = rows;
      Operands few = all;
      few.a.assign(all.a.begin() + begin * all.lda, all.a.begin() + (begin + rows) * all.lda);
      few.c_before.assign(all.c_before.begin() + begin * all.ldc,
                          all.c_before.begin() + (begin + rows) * all.ldc);
      const std::vector<float> expected(together.begin() + begin * all.ldc,
                                        together.begin() + (begin + rows) * all.ldc);
      EXPECT_TRUE(same_bits(product(subset, few), expected)) << ::testing::PrintToString(subset);
    }
  });
}

TEST_P(GemmTest, PlacesBetweenRowsAreLeftAlone) {
  const Case c{.m = 31, .n = 45, .k = 10, .extra_stride = 7};
  const Operands operands(c);
  const std::vector<float> result = product(c, operands);
  for (std::int64_t row = 0; row < c.m; ++row)
    for (std::int64_t column = c.n; column < operands.ldc; ++column)
      ASSERT_EQ(at(result, row * operands.ldc + column), at(operands.c_before, row * operands.ldc + column));
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1.0 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case Activation::quick_gelu:
      return x / (1.0 + std::exp(-1.702 * x));
  }
  return x;
}

void expect_epilogue(Activation activation, bool packed, std::int64_t m) {
  const Case c{.m = m, .n = 77, .k = 300, .transpose_b = true, .packed = packed, .threads = 2};
  const Operands operands(c);
  const std::vector<float> plain = chains(c, operands);
  const std::vector<float> bias = random_values(c.n, 4), residual = random_values(c.m * (c.n + 5), 5);
  std::vector<float> result = operands.c_before, pre(result.size());
  ThreadPool pool(c.threads);
  Gemm problem = problem_of(c, operands, result);
  PackedMatrix packed_b;
  if (packed) {
    packed_b = pack(pool, problem.b, problem.ldb, c.transpose_b, c.k, c.n);
    problem.packed = &packed_b;
  }
  problem.epilogue = {bias.data(), pre.data(), activation, residual.data(), c.n + 5};
  gemm(pool, problem);
  for (std::int64_t row = 0; row < c.m; ++row) {
    for (std::int64_t column = 0; column < c.n; ++column) {
      const std::int64_t index = row * operands.ldc + column;
      const float before = at(plain, index) + at(bias, column);
      ASSERT_EQ(at(pre, index), before);
      const double expected = activated(activation, static_cast<double>(before)) +
                              static_cast<double>(at(residual, row * (c.n + 5) + column));
      ASSERT_NEAR(static_cast<double>(at(result, index)), expected, 1e-6 * (1.0 + std::abs(expected)));
    }
  }
}

TEST_P(GemmTest, EpilogueFollowsTheChain) {
  for (Activation activation :
       {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu,
        Activation::tanh, Activation::sigmoid, Activation::quick_gelu})
    for (bool packed : {false, true})
      for (std::int64_t m : {3, 41}) expect_epilogue(activation, packed, m);
}

TEST_P(GemmTest, NoStepsGiveZerosOrCThenTheEpilogue) {
  ThreadPool pool(1);
  std::vector<float> c(6, 2.0f);
  const std::vector<float> bias{1.0f, -3.0f, 0.5f};
  Gemm problem;
  problem.m = 2, problem.n = 3, problem.c = c.data(), problem.ldc = 3;
  problem.epilogue.bias = bias.data();
  gemm(pool, problem);
  EXPECT_EQ(c, (std::vector<float>{1.0f, -3.0f, 0.5f, 1.0f, -3.0f, 0.5f}));
  problem.accumulate = true;
  gemm(pool, problem);
  EXPECT_EQ(c, (std::vector<float>{2.0f, -6.0f, 1.0f, 2.0f, -6.0f, 1.0f}));
}

TEST_P(GemmTest, WorksInsideABodyOfTheSamePool) {
  const Case c{.m = 40, .n = 60, .k = 200, .transpose_b = true};
  const Operands operands(c);
  const std::vector<float> expected = chains(c, operands);
  ThreadPool pool(3);
  std::vector<std::vector<float>> results(8, operands.c_before);
  pool.parallel_for(8, [&](std::int64_t task, int) {
    gemm(pool, problem_of(c, operands, results[static_cast<std::size_t>(task)]));
  });
  for (const std::vector<float>& result : results) EXPECT_TRUE(same_bits(result, expected));
}

INSTANTIATE_TEST_SUITE_P(Isa, GemmTest, ::testing::ValuesIn(available()),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

}  // namespace
}  // namespace regard::kernels
