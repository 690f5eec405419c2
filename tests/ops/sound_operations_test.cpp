// Tests of the operations of sound models: convolution, gated linear unit, group norm, weight norm and CTC
// loss. The results must equal those of the simple implementations in src/ops/plain, for many shapes, and
// results that were computed with PyTorch.
#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>
#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "formats/safetensors.h"
#include "kernels/isa_fixture.h"
#include "ops/convolution.h"
#include "ops/ctc_loss.h"
#include "ops/gated_linear_unit.h"
#include "ops/group_norm.h"
#include "ops/plain/convolution.h"
#include "ops/plain/ctc_loss.h"
#include "ops/plain/gated_linear_unit.h"
#include "ops/plain/group_norm.h"
#include "ops/weight_norm.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/operation_case.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::check_operation;
using testing::Numbers;
using testing::OperationCase;
using Inputs = std::span<const Numbers>;
using Vars = std::span<const Var>;

class SoundOperations : public testing::EachIsa {};

struct ConvolutionShape {
  std::vector<std::int32_t> frames;  // number of frames of each sequence
  std::int64_t in, out, groups;
  FrameWindow window;
};

TEST_P(SoundOperations, ConvolutionOfSeveralSequences) {
  const ConvolutionShape shapes[] = {
      {{7, 1, 12}, 5, 6, 1, {3, 1, 1, 1}},  {{9, 4}, 6, 4, 1, {3, 2, 1, 1}},
      {{40, 11}, 1, 7, 1, {10, 5, 0, 0}},   {{8, 3}, 8, 12, 4, {4, 1, 2, 1}},
      {{11, 2, 30}, 6, 6, 6, {5, 3, 4, 0}}, {{5, 2, 6}, 3, 2, 1, {4, 2, 0, 0}}};
  std::uint64_t seed = 1;
  for (const ConvolutionShape& shape : shapes) {
    std::vector<std::int32_t> offsets{0};
    for (const std::int32_t frames : shape.frames) offsets.push_back(offsets.back() + frames);
    const std::int64_t channels = shape.in / shape.groups;
    OperationCase convolution;
    convolution.name = "convolution " + std::to_string(seed);
    convolution.inputs = {
        {offsets.back(), shape.in}, {shape.out, channels * shape.window.kernel}, {shape.out}};
    convolution.operation = [&](Tape& tape, Vars v) {
      return ops::convolution(tape, v[0], v[1], v[2], offsets, {shape.window, shape.groups});
    };
    convolution.plain = [&](Inputs v) {
      Numbers all;
      for (std::size_t s = 0; s < shape.frames.size(); ++s) {
        Numbers y(static_cast<std::size_t>(shape.window.output_frames(shape.frames[s]) * shape.out));
        plain::convolution<double>({shape.frames[s], shape.in, shape.out, shape.groups, shape.window},
                                   v[0].data() + offsets[s] * shape.in, v[1].data(), v[2].data(), y.data());
        all.insert(all.end(), y.begin(), y.end());
      }
      return all;
    };
    convolution.input_scale = 0.7;
    check_operation(convolution, seed++);
  }
}

TEST_P(SoundOperations, GatedLinearUnit) {
  for (const auto& [rows, features] : {std::pair{1, 1}, {5, 3}, {130, 70}}) {
    OperationCase unit;
    unit.name = "gated linear unit";
    unit.inputs = {{rows, 2 * features}};
    unit.operation = [](Tape& tape, Vars v) { return ops::gated_linear_unit(tape, v[0]); };
    unit.plain = [=](Inputs v) {
      Numbers y(v[0].size() / 2);
      plain::gated_linear_unit<double>(rows, features, v[0].data(), y.data());
      return y;
    };
    check_operation(unit, static_cast<std::uint64_t>(rows));
  }
}

TEST_P(SoundOperations, GroupNormOfSeveralSequences) {
  const std::vector<std::int32_t> offsets{0, 9, 12, 30};
  for (const std::int64_t groups : {1, 5, 20}) {
    constexpr std::int64_t kChannels = 20;
    OperationCase norm;
    norm.name = "group norm";
    norm.inputs = {{offsets.back(), kChannels}, {kChannels}, {kChannels}};
    norm.operation = [&](Tape& tape, Vars v) {
      return ops::group_norm(tape, v[0], v[1], v[2], offsets, {.groups = groups});
    };
    norm.plain = [&](Inputs v) {
      Numbers y(v[0].size());
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
        plain::group_norm<double>(offsets[s + 1] - offsets[s], kChannels, groups, 1e-5,
                                  v[0].data() + offsets[s] * kChannels, v[1].data(), v[2].data(),
                                  y.data() + offsets[s] * kChannels);
      return y;
    };
    check_operation(norm, static_cast<std::uint64_t>(groups));
  }
}

TEST_P(SoundOperations, WeightNorm) {
  OperationCase norm;
  norm.name = "weight norm";
  norm.inputs = {{12, 5}, {5}};
  norm.operation = [](Tape& tape, Vars v) { return ops::weight_norm(tape, v[0], v[1]); };
  norm.plain = [](Inputs v) {
    Numbers y(v[0].size());
    for (std::size_t k = 0; k < 5; ++k) {
      double sum = 0;
      for (std::size_t r = 0; r < 12; ++r) sum += v[0][r * 5 + k] * v[0][r * 5 + k];
      for (std::size_t r = 0; r < 12; ++r) y[r * 5 + k] = v[1][k] * v[0][r * 5 + k] / std::sqrt(sum);
    }
    return y;
  };
  check_operation(norm, 3);
}

TEST_P(SoundOperations, CtcLossIsTheSumOverAllPaths) {
  const std::vector<std::int32_t> offsets{0, 5, 9, 10}, targets{1, 1, 2, 2, 3}, target_offsets{0, 2, 4, 5};
  OperationCase loss;
  loss.name = "CTC loss";
  loss.inputs = {{offsets.back(), 4}};
  loss.operation = [&](Tape& tape, Vars v) {
    return ops::ctc_loss(tape, v[0], offsets, targets, target_offsets, {.factor = 0.5f});
  };
  loss.plain = [&](Inputs v) {
    double sum = 0;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
      sum += plain::ctc_loss<double>(
          offsets[s + 1] - offsets[s], 4, v[0].data() + offsets[s] * 4,
          std::span(targets).subspan(static_cast<std::size_t>(target_offsets[s]),
                                     static_cast<std::size_t>(target_offsets[s + 1] - target_offsets[s])),
          0);
    return Numbers{0.5 * sum};
  };
  check_operation(loss, 4);
}

// Return the loss of one sequence with blank 0; write the gradient to `slope` if it is not null.
float ctc_of(const Tensor& logits, const std::vector<std::int32_t>& targets, Tensor* slope = nullptr) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true, .keep = true});
  Var x = tape.input(logits, true);
  const std::vector<std::int32_t> offsets{0, static_cast<std::int32_t>(logits.rows())},
      target_offsets{0, static_cast<std::int32_t>(targets.size())};
  Var loss = ops::ctc_loss(tape, x, offsets, targets, target_offsets, {});
  const float value = loss->value.f32()[0];
  tape.backward(loss);
  if (slope != nullptr) *slope = x->gradient.clone();
  return value;
}

// The only possible alignment emits label 1 in every second frame. Each emission has probability e⁻⁴⁰, so the
// probability of the alignment is below the smallest double.
TEST_P(SoundOperations, CtcLossOfAnImprobableAlignment) {
  constexpr std::int64_t kTargets = 60, kFrames = 2 * kTargets - 1;
  Tensor logits = Tensor::zeros({kFrames, 3}), slope;
  for (std::int64_t t = 0; t < kFrames; ++t) logits.row(t)[0] = 40.0f;
  const float loss = ctc_of(logits, std::vector<std::int32_t>(kTargets, 1), &slope);
  EXPECT_NEAR(loss, 40.0 * kTargets, 1e-3);
  for (std::int64_t t = 0; t < kFrames; ++t) {
    EXPECT_NEAR(slope.row(t)[0], t % 2 == 0 ? 1.0 : 0.0, 1e-6) << t;
    EXPECT_NEAR(slope.row(t)[1], t % 2 == 0 ? -1.0 : 0.0, 1e-6) << t;
  }
}

TEST_P(SoundOperations, CtcLossOfValuesThatAreNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), kInfinity})
    for (const std::int64_t column : {0, 4, 8}) {
      Tensor logits = Tensor::zeros({7, 9}), slope;
      logits.row(3)[column] = bad;
      EXPECT_TRUE(std::isnan(ctc_of(logits, {1, 2}, &slope)));
      for (std::int64_t i = 0; i < slope.elements(); ++i) EXPECT_TRUE(std::isnan(slope.f32()[i])) << i;
    }
  Tensor logits = Tensor::zeros({5, 9}), slope;
  for (std::int64_t t = 0; t < 5; ++t) logits.row(t)[8] = -kInfinity;
  EXPECT_TRUE(std::isfinite(ctc_of(logits, {1, 2}, &slope)));
  for (std::int64_t i = 0; i < slope.elements(); ++i) EXPECT_TRUE(std::isfinite(slope.f32()[i])) << i;
  EXPECT_EQ(ctc_of(logits, {8}), kInfinity);
}

REGARD_EACH_ISA(SoundOperations);

// --- PyTorch ---

class TorchSound : public ::testing::Test {
 protected:
  TorchSound()
      : file_(formats::SafetensorsFile::open(testing::golden("sound/operations.safetensors"))),
        about_(read_json(testing::golden("sound/operations.json").string())) {}

  Tensor get(const std::string& name) const { return file_->tensor(name); }
  Tensor matrix(const std::string& name) const {
    const Tensor all = get(name);
    return all.reshape({all.shape()[0], all.elements() / all.shape()[0]});
  }
  Var input(const Tensor& value) { return tape_.input(value, true); }
  void backward(Var y, const Tensor& slope) {
    std::copy_n(slope.f32(), slope.elements(), tape_.gradient(y).data);
    tape_.backward(y);
  }
  void expect_slope(Var variable, const std::string& name) const {
    const Tensor golden = get(name);
    testing::expect_gradient(variable->gradient.reshape(golden.shape()), golden, name);
  }
  std::vector<std::string> cases(const std::string& prefix) const {
    std::vector<std::string> all;
    for (const auto& [name, about] : about_.items())
      if (name.starts_with(prefix)) all.push_back(name);
    return all;
  }

  std::shared_ptr<const formats::SafetensorsFile> file_;
  Json about_;
  ThreadPool pool_{2};
  Arena arena_;
  Tape tape_{pool_, arena_};
};

TEST_F(TorchSound, Convolution) {
  for (const std::string& name : cases("convolution.")) {
    const Json& about = about_[name];
    tape_.begin({.record = true, .keep = true});
    Var x = input(get(name + ".x")), weight = input(matrix(name + ".weight")),
        bias = input(get(name + ".bias"));
    const std::int64_t padding = about["padding"];
    const std::vector<std::int32_t> offsets{0, static_cast<std::int32_t>(x->value.rows())};
    Var y = ops::convolution(tape_, x, weight, bias, offsets,
                             {{about["kernel"], about["stride"], padding, padding}, about["groups"]});
    testing::expect_output(y->value, get(name + ".y"), name);
    backward(y, get(name + ".dy"));
    expect_slope(x, name + ".dx");
    expect_slope(weight, name + ".dweight");
    expect_slope(bias, name + ".dbias");
  }
}

TEST_F(TorchSound, GroupNormAndWeightNorm) {
  for (const std::string& name : cases("group_norm.")) {
    tape_.begin({.record = true, .keep = true});
    Var x = input(get(name + ".x")), gain = input(get(name + ".gain")), bias = input(get(name + ".bias"));
    const std::vector<std::int32_t> offsets{0, static_cast<std::int32_t>(x->value.rows())};
    Var y = ops::group_norm(tape_, x, gain, bias, offsets, {.groups = about_[name]["groups"]});
    testing::expect_output(y->value, get(name + ".y"), name);
    backward(y, get(name + ".dy"));
    expect_slope(x, name + ".dx");
    expect_slope(gain, name + ".dgain");
    expect_slope(bias, name + ".dbias");
  }
  tape_.begin({.record = true, .keep = true});
  const Tensor v = get("weight_norm.v"), g = get("weight_norm.g");
  Var direction = input(v), magnitude = input(g.reshape({g.elements()}));
  Var w = ops::weight_norm(tape_, direction, magnitude);
  testing::expect_output(w->value, get("weight_norm.w"), "weight norm");
  backward(w, get("weight_norm.dw"));
  expect_slope(direction, "weight_norm.dv");
  expect_slope(magnitude, "weight_norm.dg");
}

TEST_F(TorchSound, CtcLoss) {
  for (const std::string& name : cases("ctc.")) {
    const Json& about = about_[name];
    std::vector<std::int32_t> offsets{0}, targets, target_offsets{0};
    for (const std::int32_t frames : about["frames"]) offsets.push_back(offsets.back() + frames);
    for (const std::vector<std::int32_t> own : about["targets"]) {
      targets.insert(targets.end(), own.begin(), own.end());
      target_offsets.push_back(static_cast<std::int32_t>(targets.size()));
    }
    tape_.begin({.record = true, .keep = true});
    Var logits = input(get(name + ".logits"));
    Var loss = ops::ctc_loss(tape_, logits, offsets, targets, target_offsets,
                             {.mean = about["mean"], .zero_infinity = about["zero_infinity"]});
    testing::expect_output(loss->value, get(name + ".loss"), name);
    tape_.backward(loss);
    expect_slope(logits, name + ".dlogits");
  }
}

TEST_F(TorchSound, MisuseIsAnErrorThatNamesTheShapes) {
  tape_.begin({});
  Var x = input(Tensor::zeros({6, 4})), weight = input(Tensor::zeros({3, 12})),
      gain = input(Tensor::zeros({4}));
  const std::vector<std::int32_t> whole{0, 6}, shorter{0, 5};
  EXPECT_REGARD_ERROR(ops::convolution(tape_, x, weight, nullptr, whole, {{2, 1, 0, 0}, 1}), ErrorKind::usage,
                      "[3, 12]");
  EXPECT_REGARD_ERROR(ops::convolution(tape_, x, weight, nullptr, shorter, {{3, 1, 0, 0}, 1}),
                      ErrorKind::usage, "offsets");
  EXPECT_REGARD_ERROR(ops::convolution(tape_, x, weight, nullptr, whole, {{3, 1, 0, 0}, 3}), ErrorKind::usage,
                      "groups");
  EXPECT_REGARD_ERROR(ops::group_norm(tape_, x, gain, nullptr, whole, {.groups = 3}), ErrorKind::usage,
                      "groups");
  const std::vector<std::int32_t> blank{0}, one{0, 1};
  EXPECT_REGARD_ERROR(ops::ctc_loss(tape_, x, whole, blank, one, {}), ErrorKind::invalid_input, "blank");
  const std::vector<std::int32_t> large{4};
  EXPECT_REGARD_ERROR(ops::ctc_loss(tape_, x, whole, large, one, {}), ErrorKind::invalid_input, "4");
}

}  // namespace
}  // namespace regard::testing
