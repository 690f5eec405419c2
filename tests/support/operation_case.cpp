#include "support/operation_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"

namespace regard::testing {
namespace {

struct Outcome {
  std::vector<float> value;
  bool needs_gradient;
  std::vector<std::vector<float>> gradients;
};

// Inputs that need a gradient: all, none, or the input with the given index.
constexpr int kAllInputs = -1, kNoInput = -2;

std::vector<float> copied(const Tensor& tensor) {
  const Tensor whole = tensor.clone();
  return {whole.f32(), whole.f32() + whole.elements()};
}

// `started`: value of the inputs' gradients before the backward pass, which adds to them; null: no gradients
// yet.
Outcome run(const OperationCase& which, const std::vector<Tensor>& inputs, const std::vector<float>& upstream,
            int threads, const float* started, int wanted = kAllInputs) {
  ThreadPool pool(threads);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true, .training = which.training, .seed = 5, .step = 7});
  std::vector<Var> variables;
  for (const Tensor& input : inputs) {
    // The inputs are copied, because some operations work in place.
    const bool needs_gradient = wanted == kAllInputs || wanted == static_cast<int>(variables.size());
    variables.push_back(tape.make(input.shape(), needs_gradient));
    std::memcpy(variables.back()->value.data(), input.data(), input.bytes());
    if (started == nullptr) continue;
    const Tape::Gradient gradient = tape.gradient(variables.back());
    std::fill_n(gradient.data, input.elements(), *started);
  }
  Var out = which.operation(tape, variables);
  Outcome outcome;
  outcome.value = copied(out->value);
  outcome.needs_gradient = out->needs_gradient;
  const Tape::Gradient start = tape.gradient(out);
  for (std::size_t i = 0; start.data != nullptr && i < outcome.value.size(); ++i)
    start.data[i] = upstream.empty() ? 0.0f : upstream[i % upstream.size()];
  tape.backward(out);
  for (Var variable : variables)
    outcome.gradients.push_back(variable->gradient_started ? copied(variable->gradient)
                                                           : std::vector<float>(static_cast<std::size_t>(
                                                                 variable->value.elements())));
  return outcome;
}

double largest(const Numbers& numbers) {
  double most = 0.0;
  for (const double number : numbers) most = std::max(most, std::abs(number));
  return most;
}

double weighted(const Numbers& value, const std::vector<float>& upstream) {
  double sum = 0.0;
  for (std::size_t i = 0; i < value.size(); ++i)
    sum += value[i] * static_cast<double>(upstream[i % upstream.size()]);
  return sum;
}

void check_gradients(const OperationCase& which, std::vector<Numbers> inputs, const Outcome& outcome,
                     const std::vector<float>& upstream) {
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    const std::size_t count = inputs[n].size();
    const std::size_t stride = std::max<std::size_t>(1, count / which.samples);
    Numbers difference, expected;
    for (std::size_t i = 0; i < count; i += stride) {
      constexpr double kStep = 1e-5;
      const double kept = inputs[n][i];
      inputs[n][i] = kept + kStep;
      const double above = weighted(which.plain(inputs), upstream);
      inputs[n][i] = kept - kStep;
      const double below = weighted(which.plain(inputs), upstream);
      inputs[n][i] = kept;
      expected.push_back((above - below) / (2 * kStep));
      difference.push_back(static_cast<double>(outcome.gradients[n][i]) - expected.back());
    }
    for (const double d : difference)
      ASSERT_LE(std::abs(d), which.gradient_tolerance * std::max(0.1, largest(expected)))
          << which.name << ": the gradient of input " << n;
  }
}

// Compare `all`, in which every input needs a gradient, with passes in which one input or none needs it.
void check_partial_gradients(const OperationCase& which, const std::vector<Tensor>& inputs,
                             const std::vector<float>& upstream, const Outcome& all) {
  const Outcome none = run(which, inputs, upstream, 1, nullptr, kNoInput);
  ASSERT_FALSE(none.needs_gradient) << which.name << ": no input needs a gradient, but the result does";
  ASSERT_EQ(none.value.size(), all.value.size());
  for (std::size_t i = 0; i < all.value.size(); ++i)
    ASSERT_NEAR(none.value[i], all.value[i], which.tolerance * std::max(1.0f, std::abs(all.value[i])))
        << which.name << ": the value without gradients differs at " << i;
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    const Outcome alone = run(which, inputs, upstream, 1, nullptr, static_cast<int>(n));
    ASSERT_EQ(alone.value, all.value) << which.name << ": the value depends on the inputs with gradients";
    float most = 1.0f;
    for (const float g : all.gradients[n]) most = std::max(most, std::abs(g));
    for (std::size_t i = 0; i < all.gradients[n].size(); ++i)
      ASSERT_NEAR(alone.gradients[n][i], all.gradients[n][i], 2e-6f * most)
          << which.name << ": the gradient of input " << n << " depends on the gradients of other inputs";
  }
}

}  // namespace

void check_operation(const OperationCase& which, std::uint64_t seed) {
  RandomStream stream({seed, 0, place_of(which.name)});
  std::vector<Tensor> inputs;
  std::vector<Numbers> doubles;
  for (const Shape& shape : which.inputs) {
    inputs.push_back(Tensor::empty(shape));
    doubles.emplace_back();
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      inputs.back().f32()[i] = static_cast<float>(which.input_scale * stream.next_normal());
      doubles.back().push_back(static_cast<double>(inputs.back().f32()[i]));
    }
  }
  std::vector<float> upstream(97);
  for (float& value : upstream) value = static_cast<float>(stream.next_normal());

  const Numbers expected = which.plain(doubles);
  const Outcome one = run(which, inputs, upstream, 1, nullptr);
  ASSERT_EQ(one.value.size(), expected.size()) << which.name;
  const double allowed = which.tolerance * std::max(1.0, largest(expected));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_LE(std::abs(static_cast<double>(one.value[i]) - expected[i]), allowed)
        << which.name << " at " << i;
  check_gradients(which, doubles, one, upstream);

  const Outcome three = run(which, inputs, upstream, 3, nullptr);
  ASSERT_EQ(one.value, three.value) << which.name << ": the value depends on the threads";
  for (std::size_t n = 0; n < inputs.size(); ++n)
    ASSERT_EQ(one.gradients[n], three.gradients[n]) << which.name << ": a gradient depends on the threads";
  check_partial_gradients(which, inputs, upstream, one);

  const float started = 0.5f;
  const Outcome added = run(which, inputs, upstream, 1, &started);
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    float most = 1.0f;
    for (const float g : one.gradients[n]) most = std::max(most, std::abs(g));
    for (std::size_t i = 0; i < one.gradients[n].size(); ++i)
      ASSERT_NEAR(added.gradients[n][i], one.gradients[n][i] + started, 2e-6f * most)
          << which.name << ": the gradient of input " << n << " does not add";
  }
}

}  // namespace regard::testing
