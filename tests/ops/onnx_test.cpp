// The ONNX project's node tests of softmax, norms, activations and rotary positions, on every instruction
// set.
#include <gtest/gtest.h>

#include "kernels/isa_fixture.h"
#include "kernels/rows.h"
#include "ops/activation.h"
#include "ops/norm.h"
#include "ops/rotary.h"
#include "ops/softmax.h"
#include "support/golden.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using kernels::Activation;
using testing::expect_output;
using testing::Golden;

class Onnx : public testing::EachIsa {
 protected:
  void SetUp() override {
    EachIsa::SetUp();
    tape_.begin({});
  }
  Var in(const Golden& golden, const std::string& name) {
    kept_.push_back(golden.tensor("in." + name));
    return tape_.constant(kept_.back());
  }
  ThreadPool pool_{2};
  Arena arena_;
  Tape tape_{pool_, arena_};
  std::vector<Tensor> kept_;
};

TEST_P(Onnx, SoftmaxAndLogSoftmax) {
  for (const char* name :
       {"softmax_axis_2", "softmax_default_axis", "softmax_example", "softmax_large_number"}) {
    const Golden golden("onnx", std::string("test_") + name);
    expect_output(ops::softmax(tape_, in(golden, "x"))->value, golden.tensor("out.y"), name);
  }
  for (const char* name :
       {"logsoftmax_axis_2", "logsoftmax_default_axis", "logsoftmax_example_1", "logsoftmax_large_number"}) {
    const Golden golden("onnx", std::string("test_") + name);
    expect_output(ops::log_softmax(tape_, in(golden, "x"))->value, golden.tensor("out.y"), name);
  }
}

TEST_P(Onnx, Activations) {
  const std::pair<const char*, Activation> cases[] = {{"gelu_default_1", Activation::gelu},
                                                      {"gelu_default_2", Activation::gelu},
                                                      {"gelu_tanh_1", Activation::gelu_tanh},
                                                      {"gelu_tanh_2", Activation::gelu_tanh},
                                                      {"swish", Activation::silu}};
  for (const auto& [name, activation] : cases) {
    const Golden golden("onnx", std::string("test_") + name);
    expect_output(ops::activate(tape_, in(golden, "x"), activation)->value, golden.tensor("out.y"), name);
  }
}

// ONNX normalises over all dimensions from `axis`; the dimensions before it are the rows.
TEST_P(Onnx, Norms) {
  for (const bool rms : {false, true})
    for (const char* which :
         {"2d_axis0", "2d_axis1", "3d_axis0_epsilon", "3d_axis1_epsilon", "3d_axis2_epsilon", "4d_axis0",
          "4d_axis1", "4d_axis2", "4d_axis3", "default_axis"}) {
      const std::string name =
          std::string(rms ? "test_rms_normalization_" : "test_layer_normalization_") + which;
      const Golden golden("onnx", name);
      const Tensor x = golden.tensor("in.X"), gain = golden.tensor("in.W");
      const std::int64_t columns = gain.elements(), rows = x.elements() / columns;
      kernels::Norm norm;
      norm.rows = rows, norm.columns = columns, norm.rms = rms;
      norm.epsilon = golden.about()["attributes"].value("epsilon", 1e-5f);
      const Tensor bias = rms ? Tensor() : golden.tensor("in.B");
      const Tensor y = Tensor::empty(x.shape()), mean = Tensor::empty({rows}),
                   inverse = Tensor::empty({rows});
      norm.x = x.f32(), norm.gain = gain.f32(), norm.bias = rms ? nullptr : bias.f32();
      norm.y = y.f32(), norm.mean = mean.f32(), norm.inverse_deviation = inverse.f32();
      kernels::norm(pool_, norm);
      expect_output(y, golden.tensor("out.Y"), name);
      if (rms) continue;
      expect_output(mean, golden.tensor("out.Mean"), name + " mean");
      expect_output(inverse, golden.tensor("out.InvStdDev"), name + " inverse deviation");
    }
}

// An input [batch, heads, tokens, size] is rotated as rows with one head, an input [batch, tokens, features]
// as rows with several heads. Without position ids, the table has one row for each batch and token.
TEST_P(Onnx, RotaryPositions) {
  for (const char* name :
       {"rotary_embedding", "rotary_embedding_3d_input", "rotary_embedding_no_position_ids",
        "rotary_embedding_no_position_ids_rotary_dim", "rotary_embedding_with_rotary_dim"}) {
    const Golden golden("onnx", std::string("test_") + name);
    const Tensor input = golden.tensor("in.input").clone();
    const Shape shape = input.shape();
    const bool apart = shape.rank() == 4;
    const std::int64_t batch = shape[0], tokens = shape[apart ? 2 : 1], copies = apart ? shape[1] : 1;
    const std::int64_t heads = apart ? 1 : golden.about()["attributes"]["num_heads"].get<std::int64_t>();
    const Tensor cosine = golden.tensor("in.cos_cache"), sine = golden.tensor("in.sin_cache");
    ops::RotaryTable table;
    table.cosine = cosine.reshape({cosine.rows(), cosine.columns()});
    table.sine = sine.reshape({sine.rows(), sine.columns()});
    std::vector<std::int32_t> positions;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t copy = 0; copy < copies; ++copy)
        for (std::int64_t t = 0; t < tokens; ++t)
          positions.push_back(static_cast<std::int32_t>(
              golden.has("in.position_ids") ? golden.tensor("in.position_ids").i64()[b * tokens + t]
                                            : b * tokens + t));
    Var x = tape_.constant(input.reshape({batch * copies * tokens, shape.back()}));
    ops::rotary(tape_, x, {0, heads, shape.back() / heads}, table, positions);
    expect_output(input, golden.tensor("out.output"), name);
  }
}

REGARD_EACH_ISA(Onnx);

}  // namespace
}  // namespace regard::testing
