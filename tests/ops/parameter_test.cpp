// Weights alone and in a block: memory, gradients, and numbers that are held for inference only.
#include "ops/parameter.h"

#include <gtest/gtest.h>

#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using ops::Parameter;

// Two weights of 2 and 1 rows in a block [3, 2].
struct WeightsOfABlock {
  WeightsOfABlock() {
    block.variable.value = ops::declared({3, 2});
    first.variable.value = ops::declared({2, 2}), second.variable.value = ops::declared({1, 2});
    first.block = second.block = &block, second.first_row = 2;
  }
  ops::ParameterBlock block;
  Parameter first, second;
};

Tensor counted_numbers(Shape shape) {
  Tensor numbers = Tensor::empty(shape);
  for (std::int64_t i = 0; i < numbers.elements(); ++i) numbers.f32()[i] = static_cast<float>(i + 1);
  return numbers;
}

TEST(Parameter, PartsOfABlockAreViewsOfItsRows) {
  WeightsOfABlock all;
  all.second.allocate(), all.first.allocate();
  EXPECT_EQ(all.first.value().f32(), all.block.variable.value.f32());
  EXPECT_EQ(all.second.value().f32(), all.block.variable.value.row(2));
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(all.block.variable.value.f32()[i], 0.0f);
  all.second.adopt(counted_numbers({1, 2}));
  EXPECT_EQ(all.block.variable.value.row(2)[1], 2.0f);
  EXPECT_FALSE(all.second.mapped) << "a part of a block is a copy";
  all.second.allocate();
  EXPECT_EQ(all.second.value().f32()[1], 2.0f) << "a value is allocated once";
}

TEST(Parameter, TheBlockHasAGradientWhileAPartIsTrainable) {
  WeightsOfABlock all;
  all.first.allocate(), all.second.allocate();
  const Variable& whole = all.block.variable;
  EXPECT_FALSE(whole.needs_gradient);
  all.second.set_trainable(true), all.second.set_trainable(true);
  EXPECT_EQ(all.block.trainable_parts, 1);
  EXPECT_TRUE(whole.needs_gradient && whole.gradient_started);
  EXPECT_EQ(all.second.gradient().f32(), whole.gradient.row(2));
  EXPECT_FALSE(all.first.trainable());
  all.first.set_trainable(true);
  EXPECT_EQ(all.first.gradient().f32(), whole.gradient.f32());
  all.first.gradient().f32()[0] = all.second.gradient().f32()[1] = 3.0f;
  all.first.clear_gradient();
  EXPECT_EQ(whole.gradient.f32()[0], 0.0f);
  EXPECT_EQ(whole.gradient.f32()[5], 3.0f);
  all.second.set_trainable(false);
  EXPECT_FALSE(all.second.gradient().defined());
  EXPECT_TRUE(whole.needs_gradient && whole.gradient.defined());
  all.first.set_trainable(false);
  EXPECT_FALSE(whole.needs_gradient || whole.gradient_started || whole.gradient.defined());
}

TEST(Parameter, AMappedValueIsCopiedBeforeItChanges) {
  const Tensor file = counted_numbers({2, 2}), other = Tensor::zeros({4});
  Parameter weight;
  weight.variable.value = ops::declared({4});
  weight.adopt(file);
  EXPECT_TRUE(weight.mapped);
  EXPECT_EQ(weight.value().f32(), file.f32());
  EXPECT_EQ(weight.value().shape().text(), "[4]");
  weight.adopt(other);
  EXPECT_FALSE(weight.mapped);
  EXPECT_EQ(weight.value().f32()[3], 0.0f);
  EXPECT_EQ(file.f32()[3], 4.0f);
  Parameter trained;
  trained.variable.value = ops::declared({2, 2});
  trained.adopt(file), trained.set_trainable(true);
  EXPECT_FALSE(trained.mapped);
  EXPECT_NE(trained.value().f32(), file.f32());
  EXPECT_EQ(trained.value().f32()[3], 4.0f);
  EXPECT_EQ(trained.gradient().f32()[3], 0.0f);
  // A block of one weight is mapped as a whole.
  WeightsOfABlock alone;
  alone.first.variable.value = ops::declared({3, 2});
  const Tensor rows = counted_numbers({3, 2});
  alone.first.adopt(rows);
  EXPECT_TRUE(alone.first.mapped);
  EXPECT_EQ(alone.block.variable.value.f32(), rows.f32());
  alone.first.set_trainable(true);
  EXPECT_EQ(alone.block.variable.value.f32(), alone.first.value().f32());
  EXPECT_NE(alone.first.value().f32(), rows.f32());
}

TEST(Parameter, HeldNumbersAreWidenedWithTheirScales) {
  for (const Parameter::Use use : {Parameter::Use::linear, Parameter::Use::transposed_linear}) {
    Parameter weight;
    weight.name = "layer.weight", weight.use = use;
    weight.variable.value = counted_numbers({2, 3});
    EXPECT_EQ(weight.outputs(), use == Parameter::Use::linear ? 2 : 3);
    EXPECT_EQ(weight.widened().f32(), weight.value().f32());
    Parameter::Held held;
    held.numbers = counted_numbers({2, 3});
    held.scale = Tensor::empty({3});
    for (std::int64_t i = 0; i < 3; ++i) held.scale.f32()[i] = static_cast<float>(i + 2);
    weight.hold(held);
    EXPECT_TRUE(weight.is_held());
    EXPECT_FALSE(weight.value().defined());
    const Tensor wide = weight.widened();
    for (std::int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(wide.f32()[i],
                static_cast<float>((i + 1) * (2 + (use == Parameter::Use::linear ? i / 3 : i % 3))));
    EXPECT_REGARD_ERROR(
        weight.set_trainable(true), ErrorKind::usage,
        "a model loaded for inference cannot be trained (found the weight \"layer.weight\" stored "
        "as f32). Load the model for training");
    weight.set_trainable(false);
    weight.held.numbers = Tensor();
    EXPECT_REGARD_ERROR(
        weight.widened(), ErrorKind::usage,
        "the weight \"layer.weight\" was packed for inference and its original was released. Load "
        "the model again");
  }
}

}  // namespace
}  // namespace regard::testing
