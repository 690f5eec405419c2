// Layers with sizes that do not fit, and low-rank updates of weights that cannot have one.
#include <gtest/gtest.h>

#include "nn/activation_name.h"
#include "nn/convolution.h"
#include "nn/linear.h"
#include "nn/low_rank.h"
#include "regard/error.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

TEST(LayerMisuse, GroupsDivideBothNumbersOfChannels) {
  const auto make = [](std::int64_t in, std::int64_t out, std::int64_t groups) {
    nn::ConvolutionConfig config;
    config.name = "conv", config.out = out, config.groups = groups, config.window = {3, 1, 0, 0};
    const nn::Convolution convolution(in, config);
  };
  EXPECT_NO_THROW(make(4, 6, 2));
  EXPECT_REGARD_ERROR(
      make(4, 5, 2), ErrorKind::usage,
      "the groups of a convolution do not divide its channels (expected a common divisor of both "
      "numbers of channels, found 2 groups, 4 input and 5 output channels)");
  EXPECT_REGARD_ERROR(make(5, 4, 2), ErrorKind::usage, "found 2 groups, 5 input and 4 output channels");
  EXPECT_REGARD_ERROR(make(4, 4, 0), ErrorKind::usage, "found 0 groups");
}

TEST(LayerMisuse, ATransposedLayerHasOneWeight) {
  const nn::LinearPart part{"a", 3, true, {}};
  EXPECT_NO_THROW(nn::Linear(2, {part}, true));
  EXPECT_REGARD_ERROR(
      nn::Linear(2, {part, part}, true), ErrorKind::usage,
      "a transposed linear layer has a wrong number of weights (expected 1 weight, found 2 weights)");
}

TEST(LayerMisuse, AnUpdateNeedsALinearWeightWithoutOne) {
  nn::Linear linear(2, {nn::LinearPart{"a", 3, true, {}}});
  std::vector<Parameter*> parameters;
  linear.collect(parameters);
  ASSERT_EQ(parameters.size(), 2u);
  Parameter &weight = *parameters[0], &bias = *parameters[1];
  EXPECT_FALSE(nn::has_low_rank(bias));
  EXPECT_EQ(nn::low_rank_of(bias), nullptr);
  EXPECT_EQ(nn::low_rank_of(weight), nullptr);
  EXPECT_REGARD_ERROR(nn::add_low_rank(bias, "a", 1, 1.0f), ErrorKind::usage,
                      "\"a.bias\" cannot have a low-rank update (expected the weight of a linear layer)");
  const nn::LowRank& update = nn::add_low_rank(weight, "a", 4, 0.5f);
  EXPECT_EQ(nn::low_rank_of(weight), &update);
  EXPECT_EQ(update.a.name, "a.lora_A.weight");
  EXPECT_EQ(update.b.name, "a.lora_B.weight");
  EXPECT_EQ(update.a.value().shape(), (Shape{4, 2}));
  EXPECT_EQ(update.b.value().shape(), (Shape{3, 4}));
  EXPECT_FALSE(linear.reads_bf16());
  EXPECT_REGARD_ERROR(nn::add_low_rank(weight, "a", 4, 0.5f), ErrorKind::usage,
                      "\"a.weight\" has a low-rank update already");
}

TEST(LayerMisuse, ActivationsHaveNames) {
  EXPECT_EQ(nn::activation_of("quick_gelu"), kernels::Activation::quick_gelu);
  EXPECT_EQ(nn::activation_names().front(), "relu");
  EXPECT_REGARD_ERROR(
      nn::activation_of("mish"), ErrorKind::usage,
      "unknown activation (expected relu, gelu, gelu_tanh, silu, tanh, sigmoid, quick_gelu, found "
      "mish)");
}

}  // namespace
}  // namespace regard::testing
