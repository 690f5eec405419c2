// Matrix products allocate nothing once they have been done, whichever worker takes which part.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/gemm.h"
#include "support/count_allocations.h"

namespace regard::kernels {
namespace {

struct Shape {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
};

void multiply_all(ThreadPool& pool, const std::vector<float>& values, std::vector<float>& result) {
  for (const Shape& shape :
       {Shape{1, 300, 500, false, true}, Shape{20, 300, 500, false, false}, Shape{200, 200, 900, false, true},
        Shape{1024, 100, 150, true, false}, Shape{100, 200, 300, true, true}}) {
    Gemm problem;
    problem.m = shape.m, problem.n = shape.n, problem.k = shape.k;
    problem.a = values.data(), problem.lda = shape.transpose_a ? shape.m : shape.k;
    problem.b = values.data(), problem.ldb = shape.transpose_b ? shape.k : shape.n;
    problem.transpose_a = shape.transpose_a, problem.transpose_b = shape.transpose_b;
    problem.c = result.data(), problem.ldc = shape.n;
    gemm(pool, problem);
  }
}

TEST(GemmAllocation, NoneAfterTheFirstCall) {
  if (!testing::counting()) GTEST_SKIP() << "not run: a sanitizer owns the allocator";
  const std::vector<float> values(300'000, 0.5f);
  std::vector<float> result(300'000);
  for (int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    multiply_all(pool, values, result);
    const std::int64_t before = testing::allocation_count;
    EXPECT_GT(before, 0);  // the pool's own, or nothing is counted here
    for (int step = 0; step < 20; ++step) multiply_all(pool, values, result);
    EXPECT_EQ(testing::allocation_count, before) << threads << " threads";
  }
}

}  // namespace
}  // namespace regard::kernels
