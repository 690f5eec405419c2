// Compare one training step of word vectors, on every instruction set, with a reference gradient: central
// differences of the loss in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "kernels/isa_fixture.h"
#include "kernels/pair_step.h"

namespace regard::kernels {
namespace {

using Rows = std::vector<std::vector<double>>;

struct PairStepCase {
  std::int64_t size = 0;
  std::vector<std::size_t> inputs, outputs;  // row indices; some occur twice
  std::vector<float> labels;
  Rows input_rows, output_rows;
};

PairStepCase random_case(std::int64_t size, std::size_t inputs, std::size_t outputs, bool repeats) {
  RandomStream random({static_cast<std::uint64_t>(size), inputs * 1000 + outputs, 1});
  PairStepCase c;
  c.size = size;
  const auto rows = [&](std::size_t count) {
    Rows all(count);
    for (auto& row : all)
      for (std::int64_t i = 0; i < size; ++i)  // exactly representable in f32
        row.push_back(static_cast<float>(random.next_normal() / std::sqrt(static_cast<double>(size)) * 1.5));
    return all;
  };
  c.input_rows = rows(inputs);
  c.output_rows = rows(outputs);
  for (std::size_t i = 0; i < inputs; ++i) c.inputs.push_back(repeats && i % 3 == 2 ? i - 1 : i);
  for (std::size_t o = 0; o < outputs; ++o) {
    c.outputs.push_back(repeats && o % 4 == 3 ? o - 2 : o);
    c.labels.push_back(o % 5 == 0 ? 1.0f : 0.0f);
  }
  return c;
}

double loss(const PairStepCase& c, const Rows& input, const Rows& output) {
  double sum = 0;
  for (const std::size_t i : c.inputs)
    for (std::size_t o = 0; o < c.outputs.size(); ++o) {
      double score = 0;
      for (std::size_t f = 0; f < input[i].size(); ++f) score += input[i][f] * output[c.outputs[o]][f];
      const double sign = c.labels[o] > 0 ? 1.0 : -1.0;
      sum += std::log1p(std::exp(-sign * score));
    }
  return sum;
}

// Return the rows after one gradient step of rate 1, by central differences.
Rows stepped(const PairStepCase& c, bool of_inputs) {
  Rows result = of_inputs ? c.input_rows : c.output_rows;
  constexpr double kStep = 1e-5;
  for (std::size_t r = 0; r < result.size(); ++r)
    for (std::size_t f = 0; f < result[r].size(); ++f) {
      const auto at = [&](double change) {
        Rows moved = of_inputs ? c.input_rows : c.output_rows;
        moved[r][f] += change;
        return of_inputs ? loss(c, moved, c.output_rows) : loss(c, c.input_rows, moved);
      };
      result[r][f] -= (at(kStep) - at(-kStep)) / (2 * kStep);
    }
  return result;
}

class PairSteps : public testing::EachIsa {};

TEST_P(PairSteps, GoDownTheGradient) {
  for (const auto& [size, inputs, outputs] :
       {std::tuple<int, int, int>{1, 1, 1}, {7, 3, 5}, {16, 1, 6}, {33, 10, 6}, {20, 32, 7}, {5, 2, 64}})
    for (const bool repeats : {false, true}) {
      SCOPED_TRACE(std::to_string(size) + " " + std::to_string(inputs) + " " + std::to_string(outputs));
      const PairStepCase c =
          random_case(size, static_cast<std::size_t>(inputs), static_cast<std::size_t>(outputs), repeats);
      std::vector<std::vector<float>> input, output;
      for (const auto& row : c.input_rows) input.emplace_back(row.begin(), row.end());
      for (const auto& row : c.output_rows) output.emplace_back(row.begin(), row.end());
      for (auto* rows : {&input, &output})
        for (auto& row : *rows) row.resize(row.size() + 3, 99.0f);  // padding, which must not change
      std::vector<float*> in, out;
      for (const std::size_t i : c.inputs) in.push_back(input[i].data());
      for (const std::size_t o : c.outputs) out.push_back(output[o].data());
      std::vector<float> scratch(static_cast<std::size_t>(pair_step_scratch(c.size)));
      float measured = 0.5f;
      PairStep step;
      step.size = c.size;
      step.inputs = inputs;
      step.outputs = outputs;
      step.input = in.data();
      step.output = out.data();
      step.label = c.labels.data();
      step.rate = 1.0f;
      step.scratch = scratch.data();
      step.loss = &measured;
      pair_step(step);
      const double expected = loss(c, c.input_rows, c.output_rows);
      EXPECT_NEAR(measured - 0.5, expected, 2e-5 * expected);
      const Rows inputs_after = stepped(c, true), outputs_after = stepped(c, false);
      for (std::size_t r = 0; r < input.size(); ++r)
        for (std::size_t f = 0; f < inputs_after[r].size(); ++f)
          EXPECT_NEAR(input[r][f], inputs_after[r][f], 2e-5);
      for (std::size_t r = 0; r < output.size(); ++r) {
        for (std::size_t f = 0; f < outputs_after[r].size(); ++f)
          EXPECT_NEAR(output[r][f], outputs_after[r][f], 2e-5);
        EXPECT_EQ(output[r].back(), 99.0f);
      }
    }
}

// AdaGrad as in GloVe's code, on the paper's loss.
TEST_P(PairSteps, GloveStepIsAdaGradOnItsLoss) {
  for (const std::int64_t size : {1, 15, 16, 50, 100}) {
    RandomStream random({3, static_cast<std::uint64_t>(size), 0});
    const auto count = static_cast<std::size_t>(size + 1);
    std::vector<float> word(count), context(count), word_squares(count), context_squares(count);
    for (std::size_t i = 0; i < count; ++i) {
      word[i] = random.next_uniform() - 0.5f;
      context[i] = random.next_uniform() - 0.5f;
      word_squares[i] = 1.0f + random.next_uniform();
      context_squares[i] = 1.0f + random.next_uniform();
    }
    const double log_count = std::log(7.0), weight = 0.4, rate = 0.05;
    const auto half_square = [&](const std::vector<double>& w, const std::vector<double>& c) {
      double d = w.back() + c.back() - log_count;
      for (std::size_t i = 0; i + 1 < w.size(); ++i) d += w[i] * c[i];
      return 0.5 * weight * d * d;
    };
    const std::vector<double> w(word.begin(), word.end()), c(context.begin(), context.end());
    std::vector<double> gradient_w(count), gradient_c(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto slope = [&](bool of_word) {
        auto up = of_word ? w : c, down = up;
        up[i] += 1e-5;
        down[i] -= 1e-5;
        return (of_word ? half_square(up, c) - half_square(down, c)
                        : half_square(w, up) - half_square(w, down)) /
               2e-5;
      };
      gradient_w[i] = slope(true);
      gradient_c[i] = slope(false);
    }
    const auto squares_w = word_squares, squares_c = context_squares;
    GloveStep step;
    step.size = size;
    step.word = word.data();
    step.context = context.data();
    step.word_squares = word_squares.data();
    step.context_squares = context_squares.data();
    step.log_count = static_cast<float>(log_count);
    step.weight = static_cast<float>(weight);
    step.rate = static_cast<float>(rate);
    EXPECT_NEAR(glove_step(step), half_square(w, c), 1e-5);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_NEAR(word[i], w[i] - rate * gradient_w[i] / std::sqrt(squares_w[i]), 1e-6) << i;
      EXPECT_NEAR(context[i], c[i] - rate * gradient_c[i] / std::sqrt(squares_c[i]), 1e-6) << i;
      EXPECT_NEAR(word_squares[i], squares_w[i] + gradient_w[i] * gradient_w[i], 1e-5);
      EXPECT_NEAR(context_squares[i], squares_c[i] + gradient_c[i] * gradient_c[i], 1e-5);
    }
  }
}

REGARD_EACH_ISA(PairSteps);

}  // namespace
}  // namespace regard::kernels
