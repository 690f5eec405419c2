// Every operation on the tape compared with its reference implementation in double: value and gradients, over
// random shapes.
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "base/random.h"
#include "kernels/isa_fixture.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/plain/cross_entropy.h"
#include "ops/plain/dropout.h"
#include "ops/plain/embedding.h"
#include "ops/plain/linear.h"
#include "ops/plain/norm.h"
#include "ops/plain/rotary.h"
#include "ops/plain/softmax.h"
#include "ops/ragged.h"
#include "ops/rotary.h"
#include "ops/scale.h"
#include "ops/softmax.h"
#include "support/namespaces.h"
#include "support/operation_case.h"

namespace regard::testing {
namespace {

using kernels::Activation;
using testing::check_operation;
using testing::Numbers;
using testing::OperationCase;
using Inputs = std::span<const Numbers>;
using Vars = std::span<const Var>;

constexpr Activation kActivations[] = {Activation::none,      Activation::relu,      Activation::gelu,
                                       Activation::gelu_tanh, Activation::silu,      Activation::tanh,
                                       Activation::sigmoid,   Activation::quick_gelu};

class Gradients : public testing::EachIsa {
 protected:
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(stream_.next_below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::vector<std::int32_t> draw_ids(std::int64_t count, std::int64_t bound) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(draw(0, bound - 1)));
    return ids;
  }
  RandomStream stream_{RandomKey{11, 0, place_of("gradient test")}};
};

TEST_P(Gradients, LinearWithEveryEpilogue) {
  for (const bool transposed : {false, true})
    for (const Activation activation : kActivations)
      for (const bool residual : {false, true}) {
        const std::int64_t m = draw(1, 40), k = draw(1, 40), n = draw(1, 50);
        OperationCase linear;
        linear.name = "linear";
        linear.inputs = {{m, k}, transposed ? Shape{k, n} : Shape{n, k}, {n}};
        if (residual) linear.inputs.push_back({m, n});
        linear.operation = [=](Tape& tape, Vars v) {
          ops::LinearOptions options;
          options.activation = activation, options.transposed = transposed;
          options.residual = residual ? v[3] : nullptr;
          return ops::linear(tape, v[0], v[1], v[2], options);
        };
        linear.plain = [=](Inputs v) {
          Numbers y(static_cast<std::size_t>(m * n));
          plain::linear<double>({m, k, n, transposed, activation}, v[0].data(), v[1].data(), v[2].data(),
                                residual ? v[3].data() : nullptr, y.data());
          return y;
        };
        linear.input_scale = 0.7;
        check_operation(linear, static_cast<std::uint64_t>(m * 100 + n));
      }
}

TEST_P(Gradients, EmbeddingAddsUpRepeatedIds) {
  for (int i = 0; i < 4; ++i) {
    const std::int64_t vocabulary = draw(1, 20), features = draw(1, 40);
    const std::vector<std::int32_t> ids = draw_ids(draw(0, 60), vocabulary);
    OperationCase embedding;
    embedding.name = "embedding";
    embedding.inputs = {{vocabulary, features}};
    embedding.operation = [&](Tape& tape, Vars v) { return ops::embedding(tape, v[0], ids, 1.5f); };
    embedding.plain = [&](Inputs v) {
      Numbers y(ids.size() * static_cast<std::size_t>(features));
      plain::embedding<double>(v[0].data(), ids, features, 1.5, y.data());
      return y;
    };
    check_operation(embedding, static_cast<std::uint64_t>(i));
  }
}

TEST_P(Gradients, ElementwiseOperations) {
  const Shape shape{draw(1, 9), draw(1, 70)};
  OperationCase add{"add",
                    {shape, shape},
                    [](Tape& tape, Vars v) { return ops::add(tape, v[0], v[1]); },
                    [](Inputs v) {
                      Numbers y = v[0];
                      for (std::size_t i = 0; i < y.size(); ++i) y[i] += v[1][i];
                      return y;
                    }};
  check_operation(add, 1);
  OperationCase multiply{"multiply",
                         {shape, shape},
                         [](Tape& tape, Vars v) { return ops::multiply(tape, v[0], v[1]); },
                         [](Inputs v) {
                           Numbers y = v[0];
                           for (std::size_t i = 0; i < y.size(); ++i) y[i] *= v[1][i];
                           return y;
                         }};
  check_operation(multiply, 2);
  // Both inputs are the same variable: its gradient is added twice.
  OperationCase twice{"x + x",
                      {shape},
                      [](Tape& tape, Vars v) { return ops::add(tape, v[0], v[0]); },
                      [](Inputs v) {
                        Numbers y = v[0];
                        for (double& value : y) value *= 2;
                        return y;
                      }};
  check_operation(twice, 3);
  OperationCase square{"x x",
                       {shape},
                       [](Tape& tape, Vars v) { return ops::multiply(tape, v[0], v[0]); },
                       [](Inputs v) {
                         Numbers y = v[0];
                         for (double& value : y) value *= value;
                         return y;
                       }};
  check_operation(square, 4);
  OperationCase scale{"scale",
                      {shape},
                      [](Tape& tape, Vars v) { return ops::scale(tape, v[0], -0.3f); },
                      [](Inputs v) {
                        Numbers y = v[0];
                        for (double& value : y) value *= static_cast<double>(-0.3f);
                        return y;
                      }};
  check_operation(scale, 5);
}

TEST_P(Gradients, ActivationsAlone) {
  for (const Activation activation : kActivations) {
    if (activation == Activation::none) continue;
    OperationCase alone;
    alone.name = "activation";
    alone.inputs = {{draw(1, 10), draw(1, 50)}};
    alone.operation = [=](Tape& tape, Vars v) { return ops::activate(tape, v[0], activation); };
    alone.plain = [=](Inputs v) {
      Numbers y = v[0];
      for (double& value : y) value = plain::activation(activation, value);
      return y;
    };
    alone.input_scale = 2.0;
    check_operation(alone, 3);
  }
}

TEST_P(Gradients, SoftmaxAndItsLogarithm) {
  for (int i = 0; i < 4; ++i) {
    const std::int64_t rows = draw(1, 9), columns = draw(1, 80);
    OperationCase soft{"softmax",
                       {{rows, columns}},
                       [](Tape& tape, Vars v) { return ops::softmax(tape, v[0]); },
                       [=](Inputs v) {
                         Numbers y(v[0].size());
                         plain::softmax(v[0].data(), y.data(), rows, columns);
                         return y;
                       }};
    soft.input_scale = 3.0;
    check_operation(soft, static_cast<std::uint64_t>(i));
    OperationCase logarithm{"log_softmax",
                            {{rows, columns}},
                            [](Tape& tape, Vars v) { return ops::log_softmax(tape, v[0]); },
                            [=](Inputs v) {
                              Numbers y(v[0].size());
                              plain::log_softmax(v[0].data(), y.data(), rows, columns);
                              return y;
                            }};
    logarithm.input_scale = 3.0;
    check_operation(logarithm, static_cast<std::uint64_t>(i));
  }
}

TEST_P(Gradients, Norms) {
  for (const bool rms : {false, true})
    for (const float offset : {0.0f, 1.0f}) {
      const std::int64_t rows = draw(1, 50), columns = draw(2, 70);
      OperationCase norm;
      norm.name = "norm";
      norm.inputs = {{rows, columns}, {columns}, {columns}};
      norm.operation = [=](Tape& tape, Vars v) {
        const ops::NormOptions options{1e-5f, rms, offset};
        Var bias = rms ? nullptr : v[2];
        return ops::norm(tape, v[0], v[1], bias, options);
      };
      norm.plain = [=](Inputs v) {
        Numbers y(v[0].size());
        const double epsilon = static_cast<double>(1e-5f);
        plain::norm_forward<double>({rows, columns, epsilon, rms, static_cast<double>(offset), v[1].data(),
                                     rms ? nullptr : v[2].data()},
                                    v[0].data(), y.data());
        return y;
      };
      check_operation(norm, static_cast<std::uint64_t>(rows));
    }
}

TEST_P(Gradients, DropoutWithAndWithoutResidual) {
  RaggedBuffer batch;
  batch.add(5, 3);
  batch.add(0, 4);
  batch.add(7, std::uint64_t{1} << 40, 9);
  const Ragged shape = batch.view();
  const ops::DropoutOptions options{0.4f, place_of("here")};
  const std::int64_t columns = draw(1, 60);
  for (const bool residual : {false, true}) {
    OperationCase dropout;
    dropout.name = "dropout";
    dropout.training = true;
    dropout.inputs = {{12, columns}};
    if (residual) dropout.inputs.push_back({12, columns});
    dropout.operation = [&](Tape& tape, Vars v) {
      Var x = ops::scale(tape, v[0], 1.0f);  // the operation may reuse the memory of this copy
      return residual ? ops::dropout_add(tape, x, v[1], shape, options)
                      : ops::dropout(tape, x, shape, options);
    };
    dropout.plain = [&](Inputs v) {
      Numbers y(v[0].size());
      plain::dropout(RandomKey{5, 7, options.place}, options.rate, shape.sequence_index.data(),
                     shape.positions.data(), v[0].data(), y.data(), 12, columns);
      for (std::size_t i = 0; residual && i < y.size(); ++i) y[i] += v[1][i];
      return y;
    };
    check_operation(dropout, 8);
  }
}

TEST_P(Gradients, RotaryTurnsSomeFeaturesInPlace) {
  for (const bool interleaved : {false, true}) {
    ops::RotaryTable table;
    const std::int64_t half = draw(1, 8), head_dim = 2 * half + draw(0, 3), heads = 3, tokens = 11;
    table.interleaved = interleaved;
    table.cosine = Tensor::empty({20, half}), table.sine = Tensor::empty({20, half});
    for (std::int64_t i = 0; i < 20 * half; ++i) {
      table.cosine.f32()[i] = std::cos(0.37f * static_cast<float>(i));
      table.sine.f32()[i] = std::sin(0.37f * static_cast<float>(i));
    }
    const std::vector<std::int32_t> positions = draw_ids(tokens, 20);
    const std::int64_t before = 4, width = before + heads * head_dim + 5;
    OperationCase rotary;
    rotary.name = "rotary";
    rotary.inputs = {{tokens, width}};
    rotary.operation = [&](Tape& tape, Vars v) {
      Var x = ops::scale(tape, v[0], 2.0f);
      ops::rotary(tape, x, {before, heads, head_dim}, table, positions);
      return x;
    };
    rotary.plain = [&](Inputs v) {
      Numbers y = v[0], part(static_cast<std::size_t>(tokens * heads * head_dim));
      for (double& value : y) value *= 2;
      const auto each = [&](auto&& move) {
        for (std::int64_t t = 0; t < tokens; ++t)
          for (std::int64_t f = 0; f < heads * head_dim; ++f)
            move(y[static_cast<std::size_t>(t * width + before + f)],
                 part[static_cast<std::size_t>(t * heads * head_dim + f)]);
      };
      each([](double& whole, double& turned) { turned = whole; });
      const Numbers cosine(table.cosine.f32(), table.cosine.f32() + 20 * half);
      const Numbers sine(table.sine.f32(), table.sine.f32() + 20 * half);
      plain::rotary<double>({tokens, heads, head_dim, 2 * half, interleaved, false}, part.data(),
                            positions.data(), cosine.data(), sine.data());
      each([](double& whole, double& turned) { whole = turned; });
      return y;
    };
    check_operation(rotary, 4);
  }
}

TEST_P(Gradients, CrossEntropyAloneAndWithItsProjection) {
  for (const float smoothing : {0.0f, 0.1f})
    for (const std::int64_t classes : {draw(2, 60), std::int64_t{40000}}) {
      const bool large = classes > 100;  // several chunks of rows
      const std::int64_t rows = large ? 40 : draw(1, 40), features = large ? 2 : draw(1, 30);
      std::vector<std::int32_t> labels = draw_ids(rows, classes);
      labels[0] = -100;
      const auto loss_of = [=](const Numbers& logits) {
        Numbers losses(static_cast<std::size_t>(rows));
        plain::cross_entropy<double>({rows, classes, static_cast<double>(smoothing), -100}, logits.data(),
                                     labels.data(), losses.data());
        return Numbers{std::accumulate(losses.begin(), losses.end(), 0.0) * 0.25};
      };
      const ops::CrossEntropyOptions options{smoothing, -100, 0.25f};
      if (!large) {
        OperationCase alone{
            "cross_entropy",
            {{rows, classes}},
            [&](Tape& tape, Vars v) { return ops::cross_entropy(tape, v[0], labels, options); },
            [&](Inputs v) { return loss_of(v[0]); }};
        check_operation(alone, 2);
      }
      OperationCase projected;
      projected.name = "linear_cross_entropy";
      projected.inputs = {{rows, features}, {classes, features}, {classes}};
      projected.operation = [&](Tape& tape, Vars v) {
        return ops::linear_cross_entropy(tape, v[0], v[1], v[2], labels, options);
      };
      projected.plain = [&](Inputs v) {
        Numbers logits(static_cast<std::size_t>(rows * classes));
        plain::linear<double>({rows, features, classes}, v[0].data(), v[1].data(), v[2].data(), nullptr,
                              logits.data());
        return loss_of(logits);
      };
      projected.input_scale = 0.5;
      if (large) projected.samples = 6;
      if (!large || smoothing > 0.0f) check_operation(projected, 2);
    }
}

// A layer without inputs returns its bias, and a layer without outputs passes back a gradient of 0, as in
// PyTorch.
TEST_P(Gradients, LinearWithoutFeatures) {
  for (const bool transposed : {false, true}) {
    ops::LinearOptions options;
    options.transposed = transposed;
    ThreadPool pool(2);
    Arena arena;
    Tape tape(pool, arena);
    tape.begin({.record = true});
    const auto input = [&](Shape shape) { return tape.input(tape.arena().zeros(shape), true); };
    const auto weight = [&](std::int64_t in, std::int64_t out) {
      return input(transposed ? Shape{in, out} : Shape{out, in});
    };
    const Tensor bias = Tensor::of({1.0f, 2.0f});
    Var x = input({3, 5});
    Var none = ops::linear(tape, x, weight(5, 0), nullptr, options);
    ASSERT_EQ(none->value.shape(), (Shape{3, 0}));
    Var y = ops::linear(tape, none, weight(0, 2), tape.input(bias, true), options);
    ASSERT_EQ(y->value.shape(), (Shape{3, 2}));
    EXPECT_EQ(std::vector(y->value.f32(), y->value.f32() + 6), (std::vector<float>{1, 2, 1, 2, 1, 2}));
    tape.backward(y);
    EXPECT_EQ(std::vector(x->gradient.f32(), x->gradient.f32() + 15), std::vector<float>(15, 0.0f));
  }
}

REGARD_EACH_ISA(Gradients);

}  // namespace
}  // namespace regard::testing
