// Compare nn::Recurrent with torch.nn.RNN, LSTM and GRU, and a convolution made of windows() and linear()
// with torch.nn.Conv1d. Outputs, last states and all gradients are compared on ragged batches
// (tools/make_recurrent_goldens.py).
#include <gtest/gtest.h>

#include <map>

#include "nn/recurrent.h"
#include "ops/linear.h"
#include "ops/multiply.h"
#include "ops/sum.h"
#include "ops/windows.h"
#include "support/golden.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using kernels::Cell;
using testing::expect_gradient;
using testing::expect_output;
using testing::Golden;

RaggedBuffer batch_of(const Golden& golden) {
  RaggedBuffer batch;
  std::uint64_t index = 0;
  for (const Json& length : golden.about().at("lengths")) batch.add(length.get<std::int64_t>(), index++);
  return batch;
}

// Run the backward pass of Σ output ∘ weights. The golden file contains `weights` and the gradients.
void backward(Tape& tape, Var output, const Golden& golden) {
  tape.backward(ops::sum(tape, ops::multiply(tape, output, tape.constant(golden.tensor("weights")))));
}

void adopt(const Golden& golden, const std::vector<Parameter*>& parameters) {
  for (Parameter* parameter : parameters) {
    parameter->adopt(golden.tensor(parameter->name));
    parameter->set_trainable(true);
  }
}

void expect_parameter_gradients(const Golden& golden, const std::vector<Parameter*>& parameters) {
  for (const Parameter* parameter : parameters)
    expect_gradient(parameter->gradient(), golden.tensor("grad." + parameter->name), parameter->name);
}

class TorchRecurrent : public ::testing::TestWithParam<std::string> {
 protected:
  nn::RecurrentConfig config() const {
    static const std::map<std::string, Cell> kCells{
        {"tanh", Cell::tanh}, {"relu", Cell::relu}, {"lstm", Cell::lstm}, {"gru", Cell::gru}};
    const Json& about = golden_.about();
    nn::RecurrentConfig config;
    config.cell = kCells.at(about.at("cell").get<std::string>());
    config.input = about.at("input").get<std::int64_t>();
    config.hidden = about.at("hidden").get<std::int64_t>();
    config.layers = about.at("layers").get<std::int64_t>();
    config.bidirectional = about.at("bidirectional").get<bool>();
    return config;
  }
  // Return the initial state [sequences, h | c] of each layer, or an empty list if the golden case has none.
  std::vector<Var> initial(const nn::RecurrentConfig& config, std::int64_t state) {
    std::vector<Var> all;
    if (!golden_.has("h0")) return all;
    const Tensor h = golden_.tensor("h0");
    const std::int64_t sequences = h.shape()[1], hidden = config.hidden;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      Tensor both = Tensor::empty({sequences, state});
      for (std::int64_t s = 0; s < sequences; ++s) {
        std::copy_n(h.row(layer * sequences + s), hidden, both.row(s));
        if (state > hidden)
          std::copy_n(golden_.tensor("c0").row(layer * sequences + s), hidden, both.row(s) + hidden);
      }
      kept_.push_back(both);
      all.push_back(tape_.input(both, true));
    }
    return all;
  }
  void expect_initial_gradients(const std::vector<Var>& initial, std::int64_t hidden) const {
    for (std::size_t layer = 0; layer < initial.size(); ++layer)
      for (const auto& [name, column] :
           {std::pair("grad.h0", std::int64_t{0}), std::pair("grad.c0", hidden)}) {
        if (!golden_.has(name)) continue;
        const Tensor all = golden_.tensor(name);
        const std::int64_t sequences = all.shape()[1], first = static_cast<std::int64_t>(layer) * sequences;
        expect_gradient(initial[layer]->gradient.slice_columns(column, column + hidden),
                        all.reshape({all.rows(), hidden}).slice_rows(first, first + sequences), name);
      }
  }
  // Compare the states after the last tokens.
  void expect_last_states(const std::vector<ops::Recurrence>& after, const Ragged& shape) const {
    for (std::size_t layer = 0; layer < after.size(); ++layer)
      for (const bool cell : {false, true}) {
        const char* name = cell ? "cn" : "hn";
        if (!golden_.has(name)) continue;
        const Tensor all = golden_.tensor(name),
                     states = (cell ? after[layer].cell : after[layer].hidden)->value;
        const std::int64_t sequences = shape.sequences();
        for (std::int64_t s = 0; s < sequences; ++s) {
          const std::int32_t last = shape.offsets[static_cast<std::size_t>(s) + 1] - 1;
          const std::int64_t row = static_cast<std::int64_t>(layer) * sequences + s;
          expect_output(states.slice_rows(last, last + 1),
                        all.reshape({all.rows(), all.columns()}).slice_rows(row, row + 1), name);
        }
      }
  }

  Golden golden_{"recurrent", GetParam()};
  ThreadPool pool_{2};
  Arena arena_;
  Tape tape_{pool_, arena_};
  std::vector<Tensor> kept_;
};

TEST_P(TorchRecurrent, OutputAndGradients) {
  const nn::RecurrentConfig settings = config();
  nn::Recurrent module("", "encoder", settings);
  std::vector<Parameter*> parameters;
  module.collect(parameters);
  adopt(golden_, parameters);
  const RaggedBuffer batch = batch_of(golden_);
  tape_.begin({.record = true, .keep = true});
  Var x = tape_.input(golden_.tensor("x"), true);
  const std::vector<Var> first = initial(settings, module.state_size());
  std::vector<ops::Recurrence> after(settings.bidirectional ? 0 : static_cast<std::size_t>(settings.layers));
  Var output = module.forward(tape_, x, batch.view(), {first, after});
  expect_output(output->value, golden_.tensor("output"), "output");
  expect_last_states(after, batch.view());
  backward(tape_, output, golden_);
  expect_gradient(x->gradient, golden_.tensor("grad.x"), "x");
  expect_parameter_gradients(golden_, parameters);
  expect_initial_gradients(first, settings.hidden);
}

// With packed weights, and token by token with states passed from call to call, the bits are the same.
TEST_P(TorchRecurrent, TokenByTokenGivesTheSameBits) {
  const nn::RecurrentConfig settings = config();
  if (settings.bidirectional) return;
  nn::Recurrent module("", "encoder", settings);
  std::vector<Parameter*> parameters;
  module.collect(parameters);
  for (Parameter* parameter : parameters) parameter->adopt(golden_.tensor(parameter->name));
  const Tensor x = golden_.tensor("x");
  RaggedBuffer whole, one;
  whole.add(x.rows(), 0);
  one.add(1, 0);
  tape_.begin({});
  const Tensor output = module.forward(tape_, tape_.constant(x), whole.view())->value.clone();
  module.prepare_for_inference(pool_);
  std::vector<Tensor> states;
  for (std::int64_t layer = 0; layer < settings.layers; ++layer)
    states.push_back(Tensor::zeros({1, module.state_size()}));
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    tape_.begin({});
    std::vector<Var> initial;
    for (const Tensor& state : states) initial.push_back(tape_.constant(state));
    std::vector<ops::Recurrence> after(states.size());
    const Var next =
        module.forward(tape_, tape_.constant(x.slice_rows(t, t + 1).clone()), one.view(), {initial, after});
    ASSERT_TRUE(std::equal(next->value.f32(), next->value.f32() + settings.hidden, output.row(t)))
        << "token " << t;
    for (std::size_t layer = 0; layer < states.size(); ++layer) {
      std::copy_n(after[layer].hidden->value.f32(), settings.hidden, states[layer].f32());
      if (after[layer].cell != nullptr)
        std::copy_n(after[layer].cell->value.f32(), settings.hidden, states[layer].f32() + settings.hidden);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, TorchRecurrent,
                         ::testing::Values("tanh-1", "relu-1", "lstm-1", "gru-1", "tanh-2", "relu-2",
                                           "lstm-2", "gru-2", "tanh-2-bidirectional", "relu-2-bidirectional",
                                           "lstm-2-bidirectional", "gru-2-bidirectional"),
                         [](const auto& which) {
                           std::string name = which.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(TorchConvolution, OutputAndGradients) {
  for (const int width : {1, 2, 3, 4, 5}) {
    const Golden golden("recurrent", "conv-" + std::to_string(width));
    ThreadPool pool(2);
    Arena arena;
    Tape tape(pool, arena);
    Parameter weight, bias;
    const Tensor stored = golden.tensor("weight");  // [out, in, width]
    weight.variable.value = declared({stored.shape()[0], stored.shape()[1] * stored.shape()[2]});
    bias.variable.value = declared({stored.shape()[0]});
    weight.name = "weight", bias.name = "bias";
    adopt(golden, {&weight, &bias});
    const RaggedBuffer batch = batch_of(golden);
    tape.begin({.record = true, .keep = true});
    Var x = tape.input(golden.tensor("x"), true);
    Var output = ops::linear(tape, ops::windows(tape, x, batch.view(), width, (width - 1) / 2),
                             &weight.variable, &bias.variable);
    expect_output(output->value, golden.tensor("output"), "output");
    backward(tape, output, golden);
    expect_gradient(x->gradient, golden.tensor("grad.x"), "x");
    expect_parameter_gradients(golden, {&weight, &bias});
  }
}

}  // namespace
}  // namespace regard::testing
