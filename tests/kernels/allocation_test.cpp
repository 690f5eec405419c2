// Kernels allocate nothing after their first call, regardless of which worker runs which task. If memory runs
// out on the first call, they throw.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "support/count_allocations.h"
#include "support/throws.h"

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
    EXPECT_GT(before, 0);  // The pool itself allocates; 0 would mean that counting does not work.
    for (int step = 0; step < 20; ++step) multiply_all(pool, values, result);
    EXPECT_EQ(testing::allocation_count, before) << threads << " threads";
  }
}

// Attention over one long sequence: in the backward pass each task waits for the tasks before it.
struct LongSequence {
  static constexpr std::int64_t kLength = 1024, kSize = 64;
  std::vector<float> input = std::vector<float>(kLength * kSize, 0.25f);
  std::vector<float> out = input, lse = std::vector<float>(kLength), query = input, key = input,
                     value = input;
  AttentionSequence sequence;
  Attention problem;

  LongSequence() {
    sequence.queries = sequence.keys = kLength;
    sequence.key = sequence.value = input.data();
    sequence.key_gradient = key.data(), sequence.value_gradient = value.data();
    problem.sequences = {&sequence, 1};
    problem.heads = problem.kv_heads = 1;
    problem.head_dim = problem.value_dim = kSize;
    problem.scale = 0.125f;
    problem.query = problem.out_gradient = input.data();
    problem.query_stride = problem.key_stride = problem.value_stride = kSize;
    problem.out_stride = problem.out_gradient_stride = kSize;
    problem.query_gradient_stride = problem.key_gradient_stride = problem.value_gradient_stride = kSize;
    problem.out = out.data(), problem.lse = lse.data();
    problem.query_gradient = query.data();
  }
};

// If a thread cannot allocate its scratch memory, the threads that wait for its task stop waiting.
TEST(AttentionAllocation, NoMemoryIsAnError) {
  if (!testing::counting()) GTEST_SKIP() << "not run: a sanitizer owns the allocator";
  LongSequence wanted;
  ThreadPool alone(1);
  attention_forward(alone, wanted.problem);
  attention_backward(alone, wanted.problem);
  for (int round = 0; round < 20; ++round) {
    LongSequence made;
    ThreadPool pool(2);
    attention_forward(alone, made.problem);
    testing::refusals = 1;
    EXPECT_REGARD_ERROR(attention_backward(pool, made.problem), ErrorKind::resource_exhausted, "memory");
    testing::refusals = 0;
    attention_backward(pool, made.problem);
    ASSERT_EQ(made.query, wanted.query);
    ASSERT_EQ(made.key, wanted.key);
    ASSERT_EQ(made.value, wanted.value);
  }
}

}  // namespace
}  // namespace regard::kernels
