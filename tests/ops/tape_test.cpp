// The tape's memory: the backward pass reuses the memory of forward values, unless `keep` is set.
#include <gtest/gtest.h>

#include "ops/activation.h"
#include "ops/add.h"
#include "ops/linear.h"
#include "ops/parameter.h"
#include "ops/tape.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

constexpr std::int64_t kTapeRows = 64, kSize = 64;
constexpr int kLayers = 12;

// A chain of layers with residual connections. `between` contains the output of each branch.
struct Chain {
  explicit Chain(bool keep) {
    weight.variable.value = Tensor::empty({kSize, kSize});
    for (std::int64_t i = 0; i < kSize * kSize; ++i)
      weight.variable.value.f32()[i] = 0.01f * static_cast<float>(i * 7 % 23 - 11);
    weight.set_trainable(true);
    input = Tensor::empty({kTapeRows, kSize});
    for (std::int64_t i = 0; i < kTapeRows * kSize; ++i)
      input.f32()[i] = 0.1f * static_cast<float>(i * 5 % 17 - 8);
    tape.begin({.record = true, .keep = keep});
    x = tape.input(input, true);
    Var hidden = x;
    for (int layer = 0; layer < kLayers; ++layer) {
      Var branch = ops::linear(tape, hidden, &weight.variable, nullptr);
      branch = ops::activate(tape, branch, kernels::Activation::tanh);
      between.push_back(branch);
      hidden = ops::add(tape, hidden, branch);
    }
    out = hidden;
    values = out->value.clone();
    forward_bytes = arena.capacity();
    tape.backward(out);
  }

  ThreadPool pool{1};
  Arena arena;
  Tape tape{pool, arena};
  Parameter weight;
  Tensor input, values;
  Var x = nullptr, out = nullptr;
  std::vector<Var> between;
  std::size_t forward_bytes = 0;
};

std::vector<float> numbers(const Tensor& tensor) {
  return {tensor.f32(), tensor.f32() + tensor.elements()};
}

TEST(Tape, GradientsTakeTheMemoryThatValuesLeave) {
  const Chain reused(false), kept(true);
  EXPECT_EQ(numbers(reused.weight.gradient()), numbers(kept.weight.gradient()));
  EXPECT_EQ(numbers(reused.x->gradient), numbers(kept.x->gradient));
  EXPECT_EQ(numbers(reused.out->value), numbers(reused.values)) << "the root's value is gone";
  EXPECT_LT(reused.arena.capacity(), reused.forward_bytes * 5 / 4);
  EXPECT_GT(kept.arena.capacity(), kept.forward_bytes * 3 / 2);
}

// The gradients of the output and of the last branch are 1; gradients of earlier branches are different.
TEST(Tape, KeepLeavesEveryGradientReadable) {
  const Chain kept(true);
  for (const float g : numbers(kept.out->gradient)) ASSERT_EQ(g, 1.0f);
  for (const float g : numbers(kept.between.back()->gradient)) ASSERT_EQ(g, 1.0f);
  for (const Var branch : kept.between) ASSERT_TRUE(branch->gradient_started);
  EXPECT_NE(numbers(kept.between.front()->gradient), numbers(kept.between.back()->gradient));
}

TEST(Tape, NothingIsRecordedWhereNothingIsWanted) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true});
  const Tensor value = Tensor::zeros({2, 2});
  Var constant = tape.constant(value);
  Var sum = ops::add(tape, constant, constant);
  EXPECT_FALSE(sum->needs_gradient);
  tape.backward(sum);
  EXPECT_FALSE(sum->gradient_started);
}

}  // namespace
}  // namespace regard::testing
