// Losses and operations on rows compared with their definitions in double: values and gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/binary_cross_entropy.h"
#include "ops/join_rows.h"
#include "ops/margin_loss.h"
#include "ops/normalize_rows.h"
#include "ops/row_pairs.h"
#include "ops/row_products.h"
#include "ops/scale.h"
#include "ops/scale_exp.h"
#include "ops/span_cross_entropy.h"
#include "ops/squared_error.h"
#include "ops/sum.h"
#include "ops/symmetric_divergence.h"
#include "ops/unit_rows.h"
#include "ops/view.h"
#include "ops/weighted_cross_entropy.h"
#include "ops/weighted_sum.h"
#include "support/namespaces.h"
#include "support/operation_case.h"

namespace regard::testing {
namespace {

using Columns64 = std::span<const Numbers>;
using Arguments = std::span<const Var>;

void check_case(const char* name, std::vector<Shape> inputs, std::function<Var(Tape&, Arguments)> operation,
                std::function<Numbers(Columns64)> plain, double input_scale = 1.0) {
  OperationCase one;
  one.name = name;
  one.inputs = std::move(inputs);
  one.operation = std::move(operation);
  one.plain = std::move(plain);
  one.input_scale = input_scale;
  check_operation(one, 9);
}

// Return the log-probabilities of rows of logits.
Numbers log_probabilities(const Numbers& logits, std::size_t classes) {
  Numbers logs(logits.size());
  for (std::size_t row = 0; row < logits.size(); row += classes) {
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(logits[row + c]);
    for (std::size_t c = 0; c < classes; ++c) logs[row + c] = logits[row + c] - std::log(sum);
  }
  return logs;
}

TEST(LossGradients, BinaryCrossEntropyAndSquaredError) {
  Tensor targets = Tensor::zeros({5, 4});
  for (std::int64_t i = 0; i < 20; ++i) targets.f32()[i] = static_cast<float>(i % 5) / 4.0f;
  const auto target = [&](std::size_t i) { return static_cast<double>(targets.f32()[i]); };
  check_case(
      "binary cross-entropy", {{5, 4}},
      [&](Tape& tape, Arguments v) { return ops::binary_cross_entropy(tape, v[0], targets, 0.25f); },
      [&](Columns64 v) {
        double sum = 0;
        for (std::size_t i = 0; i < 20; ++i) {
          const double p = 1 / (1 + std::exp(-v[0][i]));
          sum -= target(i) * std::log(p) + (1 - target(i)) * std::log(1 - p);
        }
        return Numbers{0.25 * sum};
      },
      2.0);
  check_case(
      "squared error", {{5, 4}},
      [&](Tape& tape, Arguments v) { return ops::squared_error(tape, v[0], targets, 0.5f); },
      [&](Columns64 v) {
        double sum = 0;
        for (std::size_t i = 0; i < 20; ++i) sum += (v[0][i] - target(i)) * (v[0][i] - target(i));
        return Numbers{0.5 * sum};
      });
}

TEST(LossGradients, MarginLoss) {
  check_case(
      "margin loss", {{30, 1}, {30, 1}},
      [](Tape& tape, Arguments v) { return ops::margin_loss(tape, v[0], v[1], 0.3f, 0.7f); },
      [](Columns64 v) {
        double sum = 0;
        for (std::size_t i = 0; i < 30; ++i)
          sum += std::max(0.0, v[0][i] - v[1][i] + static_cast<double>(0.3f));
        return Numbers{static_cast<double>(0.7f) * sum};
      });
}

TEST(LossGradients, SymmetricDivergence) {
  const std::vector<std::int32_t> labels{2, -100, 0, 1, 1};
  check_case(
      "symmetric divergence", {{5, 6}, {5, 6}},
      [&](Tape& tape, Arguments v) {
        return ops::symmetric_divergence(tape, v[0], v[1], labels, -100, 0.5f);
      },
      [&](Columns64 v) {
        const Numbers p = log_probabilities(v[0], 6), q = log_probabilities(v[1], 6);
        double sum = 0;
        for (std::size_t i = 0; i < 30; ++i)
          if (labels[i / 6] != -100) sum += 0.5 * (std::exp(p[i]) - std::exp(q[i])) * (p[i] - q[i]);
        return Numbers{0.5 * sum};
      });
}

TEST(LossGradients, SpanCrossEntropy) {
  RaggedBuffer batch;
  batch.add(3, 0), batch.add(1, 1), batch.add(4, 2);
  const std::vector<std::int32_t> labels{0, 2, -100, 0, 3, 1};
  check_case(
      "span cross-entropy", {{8, 2}},
      [&](Tape& tape, Arguments v) {
        return ops::span_cross_entropy(tape, v[0], batch.view(), labels, 0.25f);
      },
      [&](Columns64 v) {
        const std::size_t offsets[] = {0, 3, 4, 8};
        double loss = 0;
        for (std::size_t i = 0; i < labels.size(); ++i) {
          if (labels[i] == -100) continue;
          const std::size_t begin = offsets[i / 2], end = offsets[i / 2 + 1];
          double sum = 0;
          for (std::size_t t = begin; t < end; ++t) sum += std::exp(v[0][2 * t + i % 2]);
          loss += std::log(sum) - v[0][2 * (begin + static_cast<std::size_t>(labels[i])) + i % 2];
        }
        return Numbers{0.25 * loss};
      });
}

TEST(LossGradients, WeightedCrossEntropy) {
  const std::vector<std::int32_t> labels{2, -100, 0, 3, 1};
  const std::vector<float> weights{0.5f, 2.0f, 1.0f, 0.25f};
  for (const float smoothing : {0.0f, 0.25f})
    check_case(
        "weighted cross-entropy", {{5, 4}},
        [&](Tape& tape, Arguments v) {
          return ops::weighted_cross_entropy(tape, v[0], labels, weights, {smoothing, -100, 0.5f});
        },
        [&](Columns64 v) {
          const Numbers logs = log_probabilities(v[0], 4);
          double loss = 0;
          for (std::size_t row = 0; row < 5; ++row) {
            if (labels[row] == -100) continue;
            const auto label = static_cast<std::size_t>(labels[row]);
            const double s = static_cast<double>(smoothing);
            loss -= (1 - s) * static_cast<double>(weights[label]) * logs[4 * row + label];
            for (std::size_t c = 0; c < 4; ++c)
              loss -= s / 4 * static_cast<double>(weights[c]) * logs[4 * row + c];
          }
          return Numbers{0.5 * loss};
        });
}

TEST(RowGradients, PairedProductsAndDistances) {
  for (const bool distance : {false, true})
    check_case(
        distance ? "paired distances" : "paired products", {{6, 5}, {6, 5}},
        [=](Tape& tape, Arguments v) {
          return distance ? ops::paired_distances(tape, v[0], v[1]) : ops::paired_products(tape, v[0], v[1]);
        },
        [=](Columns64 v) {
          Numbers y;
          for (std::size_t row = 0; row < 6; ++row) {
            double sum = 0;
            for (std::size_t i = 5 * row; i < 5 * row + 5; ++i)
              sum += distance ? std::pow(v[0][i] - v[1][i] + 1e-6, 2) : v[0][i] * v[1][i];
            y.push_back(distance ? std::sqrt(sum) : sum);
          }
          return y;
        });
}

TEST(RowGradients, ProductsOfAllRows) {
  check_case(
      "row products", {{4, 7}, {6, 7}},
      [](Tape& tape, Arguments v) { return ops::row_products(tape, v[0], v[1]); },
      [](Columns64 v) {
        Numbers y(24);
        for (std::size_t i = 0; i < 24; ++i)
          for (std::size_t f = 0; f < 7; ++f) y[i] += v[0][i / 6 * 7 + f] * v[1][i % 6 * 7 + f];
        return y;
      });
}

TEST(RowGradients, RowsOfUnitLength) {
  for (const bool unit : {false, true})
    check_case(
        unit ? "unit rows" : "normalize rows", {{6, 5}},
        [=](Tape& tape, Arguments v) {
          return unit ? ops::unit_rows(tape, v[0]) : ops::normalize_rows(tape, v[0]);
        },
        [](Columns64 v) {
          Numbers y = v[0];
          for (std::size_t row = 0; row < 30; row += 5) {
            double sum = 0;
            for (std::size_t i = row; i < row + 5; ++i) sum += v[0][i] * v[0][i];
            for (std::size_t i = row; i < row + 5; ++i) y[i] /= std::sqrt(sum);
          }
          return y;
        });
}

// A row of zeros is divided by 10⁻¹², or by its length 0.
TEST(RowGradients, RowsOfZeros) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true});
  const Tensor zeros = Tensor::zeros({1, 2});
  Var x = tape.input(zeros, true);
  Var y = ops::normalize_rows(tape, x);
  EXPECT_EQ(y->value.f32()[0], 0.0f);
  tape.backward(y);
  EXPECT_FLOAT_EQ(x->gradient.f32()[0], 1e12f);
  tape.begin({});
  EXPECT_TRUE(std::isnan(ops::unit_rows(tape, tape.input(zeros, false))->value.f32()[1]));
}

TEST(RowGradients, ScaledByAnExponential) {
  for (const bool shifts : {false, true})
    check_case(
        "scale by an exponential",
        shifts ? std::vector<Shape>{{3, 4}, {1}, {1}} : std::vector<Shape>{{3, 4}, {1}},
        [=](Tape& tape, Arguments v) { return ops::scale_exp(tape, v[0], v[1], shifts ? v[2] : nullptr); },
        [=](Columns64 v) {
          Numbers y;
          for (const double x : v[0]) y.push_back(std::exp(v[1][0]) * x + (shifts ? v[2][0] : 0.0));
          return y;
        });
}

TEST(RowGradients, WeightedSums) {
  check_case(
      "weighted sum", {{3}, {4, 5}, {4, 5}, {4, 5}},
      [](Tape& tape, Arguments v) { return ops::weighted_sum(tape, v[0], v.subspan(1)); },
      [](Columns64 v) {
        const Numbers logs = log_probabilities(v[0], 3);
        Numbers y(20);
        for (std::size_t part = 0; part < 3; ++part)
          for (std::size_t i = 0; i < 20; ++i) y[i] += std::exp(logs[part]) * v[part + 1][i];
        return y;
      });
}

TEST(RowGradients, SumsAndScaledHeads) {
  check_case(
      "sum", {{4, 5}}, [](Tape& tape, Arguments v) { return ops::sum(tape, v[0], 0.5f); },
      [](Columns64 v) {
        double sum = 0;
        for (const double x : v[0]) sum += x;
        return Numbers{0.5 * sum};
      });
  const std::vector<float> factors{0.5f, -2.0f, 0.0f};
  check_case(
      "scaled heads", {{4, 6}},
      [&](Tape& tape, Arguments v) { return ops::scale_heads(tape, v[0], factors); },
      [&](Columns64 v) {
        Numbers y = v[0];
        for (std::size_t i = 0; i < y.size(); ++i) y[i] *= static_cast<double>(factors[i % 6 / 2]);
        return y;
      });
}

TEST(RowGradients, JoinedRowsAndColumns) {
  const std::vector<std::int32_t> rows{4, 0, 2, 4, 3, 1};
  check_case(
      "joined rows", {{3, 4}, {2, 4}},
      [&](Tape& tape, Arguments v) { return ops::join_rows(tape, v[0], v[1], rows); },
      [&](Columns64 v) {
        Numbers all = v[0], y;
        all.insert(all.end(), v[1].begin(), v[1].end());
        for (const std::int32_t row : rows)
          y.insert(y.end(), all.begin() + row * 4, all.begin() + row * 4 + 4);
        return y;
      });
  check_case(
      "columns", {{3, 6}}, [](Tape& tape, Arguments v) { return ops::columns(tape, v[0], 2, 3); },
      [](Columns64 v) {
        Numbers y;
        for (std::size_t i = 0; i < 9; ++i) y.push_back(v[0][i / 3 * 6 + 2 + i % 3]);
        return y;
      });
  check_case(
      "reshape", {{3, 6}},
      [](Tape& tape, Arguments v) {
        return ops::reshape(tape, v[0], {2, 9});
      },
      [](Columns64 v) { return v[0]; });
}

}  // namespace
}  // namespace regard::testing
