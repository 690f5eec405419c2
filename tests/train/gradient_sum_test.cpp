// Gradient sums over micro-batches in a fixed tree order.
#include "train/gradient_sum.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/random.h"
#include "formats/safetensors.h"
#include "ops/cross_entropy.h"
#include "ops/linear.h"
#include "support/shared_data.h"
#include "tensor/arena.h"

namespace regard::train {
namespace {

std::unique_ptr<Parameter> parameter_of(const std::string& name, const Tensor& value) {
  auto parameter = std::make_unique<Parameter>();
  parameter->name = name;
  parameter->variable.value = value.clone();
  parameter->set_trainable(true);
  return parameter;
}

// Reference implementation of the sum ((0+1)+(2+3))+… in f32.
float tree_sum(const std::vector<float>& leaves) {
  std::vector<float> level = leaves;
  while (level.size() > 1) {
    std::vector<float> next;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
    if (level.size() % 2 == 1) next.push_back(level.back());
    level = next;
  }
  return level[0];
}

TEST(GradientSum, IsTheTreeOverTheLeavesIndex) {
  ThreadPool pool(2);
  for (std::size_t leaves = 2; leaves <= 9; ++leaves) {
    const auto parameter = parameter_of("w", Tensor::zeros({67}));
    Parameter* parameters[] = {parameter.get()};
    GradientSum sum(parameters, static_cast<std::int64_t>(leaves));
    for (int round = 0; round < 2; ++round) {  // the second round starts from zero
      RandomStream random({7, leaves, 0});
      std::vector<std::vector<float>> drawn(67);
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
        for (std::size_t i = 0; i < 67; ++i) {
          drawn[i].push_back(static_cast<float>(random.next_normal()));
          parameter->gradient().f32()[i] = drawn[i].back();
        }
        sum.add(pool);
      }
      sum.finish(pool);
      for (std::size_t i = 0; i < 67; ++i)
        ASSERT_EQ(parameter->gradient().f32()[i], tree_sum(drawn[i])) << leaves;
    }
  }
}

// A frozen parameter has no gradient to add, regardless of its position among the parameters.
TEST(GradientSum, LeavesOutWhatIsNotTrained) {
  ThreadPool pool(1);
  const auto first = parameter_of("frozen", Tensor::zeros({3})),
             second = parameter_of("w", Tensor::zeros({5})), third = parameter_of("v", Tensor::zeros({2}));
  first->set_trainable(false);
  Parameter* parameters[] = {first.get(), second.get(), third.get()};
  GradientSum sum(parameters, 3);
  for (const float leaf : {1.0f, 2.0f, 4.0f}) {
    for (Parameter* parameter : {second.get(), third.get()})
      for (std::int64_t i = 0; i < parameter->gradient().elements(); ++i)
        parameter->gradient().f32()[i] = leaf;
    sum.add(pool);
    EXPECT_EQ(second->gradient().f32()[0], 0.0f) << "cleared for the next leaf";
  }
  sum.finish(pool);
  for (Parameter* parameter : {second.get(), third.get()})
    for (std::int64_t i = 0; i < parameter->gradient().elements(); ++i)
      EXPECT_EQ(parameter->gradient().f32()[i], 7.0f);
  EXPECT_FALSE(first->gradient().defined());
}

// Micro-batches with different numbers of counted labels: the sum is PyTorch's gradient of the mean over all
// labels, not the mean of the micro-batches' means.
TEST(GradientSum, AccumulatesAsTorch) {
  const auto file = formats::SafetensorsFile::open(testing::golden("training-pieces/golden.safetensors"));
  const Tensor x = file->tensor("accum.x"), labels = file->tensor("accum.labels");
  const auto weight = parameter_of("w", file->tensor("accum.weight"));  // [in, out]
  ThreadPool pool(2);
  Arena arena;
  Tape tape(pool, arena);
  Parameter* parameters[] = {weight.get()};
  const std::pair<std::int64_t, std::int64_t> batches[] = {{0, 4}, {4, 6}, {6, 12}};
  GradientSum sum(parameters, 3);
  double loss = 0.0;
  for (const auto& [begin, end] : batches) {
    std::vector<std::int32_t> targets;
    for (std::int64_t i = begin; i < end; ++i) targets.push_back(static_cast<std::int32_t>(labels.i64()[i]));
    tape.begin({.record = true});
    ops::LinearOptions transposed;
    transposed.transposed = true;
    const Var logits =
        ops::linear(tape, tape.constant(x.slice_rows(begin, end)), &weight->variable, nullptr, transposed);
    ops::CrossEntropyOptions options;
    options.factor = 1.0f / 8.0f;  // counted labels of all micro-batches
    const Var part = ops::cross_entropy(tape, logits, targets, options);
    loss += double{part->value.f32()[0]};
    tape.backward(part);
    sum.add(pool);
  }
  sum.finish(pool);
  EXPECT_NEAR(loss, file->tensor("accum.loss").f32()[0], 2e-6);
  for (const char* name : {"accum.grad_accumulated", "accum.grad_full"}) {
    const Tensor expected = file->tensor(name);
    for (std::int64_t i = 0; i < expected.elements(); ++i)
      EXPECT_NEAR(weight->gradient().f32()[i], expected.f32()[i], 2e-6) << name;
  }
}

}  // namespace
}  // namespace regard::train
