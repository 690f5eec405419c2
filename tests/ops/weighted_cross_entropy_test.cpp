// The weighted cross-entropy at the limits of log-probabilities. tests/train/classification_test.cpp compares
// it with PyTorch.
#include "ops/weighted_cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/thread_pool.h"
#include "ops/tape.h"
#include "tensor/arena.h"

namespace regard::ops {
namespace {

// As in PyTorch, the log-probabilities of other classes than the label have no effect without smoothing, even
// if they are −∞.
TEST(WeightedCrossEntropy, ReadsOnlyTheLabelsWithoutSmoothing) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true});
  constexpr std::int32_t kIgnored = -100;
  const std::vector<std::int32_t> labels{0, kIgnored, 1};
  const std::vector<float> weights{2.0f, 1.0f, 0.0f};
  const Tensor logits = Tensor::zeros({3, 3});
  const float infinity = std::numeric_limits<float>::infinity();
  for (std::int64_t r = 0; r < 3; ++r) logits.row(r)[2] = -infinity;
  Var input = tape.input(logits, true);
  Var loss = weighted_cross_entropy(tape, input, labels, weights, {0.0f, kIgnored, 1.0f});
  EXPECT_NEAR(loss->value.f32()[0], 3.0 * std::log(2.0), 1e-6);
  tape.backward(loss);
  const std::vector<float> expected{-1, 1, 0, 0, 0, 0, 0.5, -0.5, 0};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(input->gradient.f32()[i], expected[i], 1e-6) << i;
  tape.begin({.record = false});
  const std::vector<std::int32_t> ignored(3, kIgnored);
  Var none =
      weighted_cross_entropy(tape, tape.input(logits, false), ignored, weights, {0.0f, kIgnored, 1.0f});
  EXPECT_EQ(none->value.f32()[0], 0.0f);
}

}  // namespace
}  // namespace regard::ops
