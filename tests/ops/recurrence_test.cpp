// ops::recurrence and the operations around it compared with their reference implementations in double: value
// and gradients, over random shapes and ragged batches.
#include "ops/recurrence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "kernels/isa_fixture.h"
#include "ops/add.h"
#include "ops/additive_attention.h"
#include "ops/assemble_rows.h"
#include "ops/join_columns.h"
#include "ops/plain/recurrence.h"
#include "ops/pool_tokens.h"
#include "ops/windows.h"
#include "support/namespaces.h"
#include "support/operation_case.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using kernels::Cell;
using testing::check_operation;
using testing::Numbers;
using testing::OperationCase;
using Inputs = std::span<const Numbers>;
using Vars = std::span<const Var>;

constexpr Cell kCells[] = {Cell::tanh, Cell::relu, Cell::lstm, Cell::gru};

class RecurrenceGradients : public testing::EachIsa {
 protected:
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(stream_.next_below(static_cast<std::uint64_t>(high - low + 1)));
  }
  RaggedBuffer draw_batch(std::int64_t shortest) {
    RaggedBuffer batch;
    const std::int64_t sequences = draw(1, 6);
    for (std::int64_t s = 0; s < sequences; ++s) batch.add(draw(shortest, 9), static_cast<std::uint64_t>(s));
    return batch;
  }
  RandomStream stream_{RandomKey{12, 0, place_of("recurrence test")}};
};

Numbers plain_recurrence(Inputs v, const plain::Recurrence& shape, const Ragged& batch, bool bias,
                         bool initial) {
  const std::int64_t hidden = shape.hidden, width = kernels::gates_of(shape.cell) * hidden;
  const std::int64_t state = shape.cell == Cell::lstm ? 2 * hidden : hidden;
  Numbers out(static_cast<std::size_t>(batch.tokens() * hidden), 0.0), cells(out.size(), 0.0);
  const double* start = initial ? v[bias ? 3 : 2].data() : nullptr;
  for (std::int64_t s = 0; s < batch.sequences(); ++s) {
    const std::int64_t begin = batch.offsets[static_cast<std::size_t>(s)];
    plain::Recurrence one = shape;
    one.tokens = batch.offsets[static_cast<std::size_t>(s) + 1] - begin;
    plain::recurrence<double>(one, v[0].data() + begin * width, v[1].data(), bias ? v[2].data() : nullptr,
                              initial ? start + s * state : nullptr, out.data() + begin * hidden,
                              cells.data() + begin * hidden);
  }
  // The LSTM's cells are a second output with a separate gradient.
  for (std::size_t i = 0; shape.cell == Cell::lstm && i < out.size(); ++i) out[i] += cells[i];
  return out;
}

TEST_P(RecurrenceGradients, EveryCellAndDirection) {
  for (const Cell cell : kCells)
    for (const bool reverse : {false, true})
      for (const bool initial : {false, true})
        for (const bool bias : {false, true}) {
          const RaggedBuffer batch = draw_batch(0);
          const Ragged shape = batch.view();
          const std::int64_t hidden = draw(1, 20), width = kernels::gates_of(cell) * hidden;
          OperationCase one;
          one.name = "recurrence";
          one.inputs = {{shape.tokens(), width}, {width, hidden}};
          if (bias) one.inputs.push_back({width});
          if (initial) one.inputs.push_back({shape.sequences(), cell == Cell::lstm ? 2 * hidden : hidden});
          one.operation = [=](Tape& tape, Vars v) {
            ops::RecurrenceOptions options;
            options.cell = cell, options.reverse = reverse;
            options.initial = initial ? v[bias ? 3 : 2] : nullptr;
            const ops::Recurrence made =
                ops::recurrence(tape, v[0], v[1], bias ? v[2] : nullptr, shape, options);
            return cell == Cell::lstm ? ops::add(tape, made.hidden, made.cell) : made.hidden;
          };
          one.plain = [=](Inputs v) {
            return plain_recurrence(v, {cell, 0, hidden, reverse}, shape, bias, initial);
          };
          one.input_scale = 0.5;
          check_operation(one, static_cast<std::uint64_t>(hidden));
        }
}

TEST_P(RecurrenceGradients, MeanAndMaximumOverTime) {
  for (int i = 0; i < 4; ++i) {
    const RaggedBuffer batch = draw_batch(0);
    const Ragged shape = batch.view();
    const std::int64_t features = draw(1, 12);
    for (const bool mean : {true, false}) {
      OperationCase pool;
      pool.name = mean ? "mean" : "max";
      pool.inputs = {{shape.tokens(), features}};
      pool.operation = [=](Tape& tape, Vars v) {
        return mean ? ops::mean_over_time(tape, v[0], shape) : ops::max_over_time(tape, v[0], shape);
      };
      pool.plain = [=](Inputs v) {
        Numbers y;
        for (std::size_t s = 0; s + 1 < shape.offsets.size(); ++s)
          for (std::int64_t f = 0; f < features; ++f) {
            const std::int32_t begin = shape.offsets[s], end = shape.offsets[s + 1];
            double sum = 0.0, largest = -std::numeric_limits<double>::infinity();
            for (std::int32_t t = begin; t < end; ++t) {
              const double value = v[0][static_cast<std::size_t>(t * features + f)];
              sum += value, largest = std::max(largest, value);
            }
            y.push_back(begin == end ? 0.0 : mean ? sum / (end - begin) : largest);
          }
        return y;
      };
      check_operation(pool, static_cast<std::uint64_t>(i));
    }
  }
}

TEST(MaximumOverTime, OfValuesWithNanIsNan) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  RaggedBuffer batch;
  batch.add(3, 0);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of({3, 3}, {1.0f, nan, 1.0f, nan, 2.0f, 5.0f, 3.0f, 4.0f, 2.0f});
  const Tensor y = ops::max_over_time(tape, tape.constant(x), batch.view())->value;
  EXPECT_TRUE(std::isnan(y.f32()[0]));
  EXPECT_TRUE(std::isnan(y.f32()[1]));
  EXPECT_EQ(y.f32()[2], 5.0f);
}

TEST_P(RecurrenceGradients, WindowsStayWithinTheirSequence) {
  for (const std::int64_t width : {1, 2, 3, 5}) {
    const RaggedBuffer batch = draw_batch(0);
    const Ragged shape = batch.view();
    const std::int64_t features = draw(1, 7), left = draw(0, width - 1);
    OperationCase windows;
    windows.name = "windows";
    windows.inputs = {{shape.tokens(), features}};
    windows.operation = [=](Tape& tape, Vars v) { return ops::windows(tape, v[0], shape, width, left); };
    windows.plain = [=](Inputs v) {
      Numbers y;
      for (std::size_t s = 0; s + 1 < shape.offsets.size(); ++s)
        for (std::int64_t t = shape.offsets[s]; t < shape.offsets[s + 1]; ++t)
          for (std::int64_t f = 0; f < features; ++f)
            for (std::int64_t k = 0; k < width; ++k) {
              const std::int64_t from = t - left + k;
              const bool inside = from >= shape.offsets[s] && from < shape.offsets[s + 1];
              y.push_back(inside ? v[0][static_cast<std::size_t>(from * features + f)] : 0.0);
            }
      return y;
    };
    check_operation(windows, static_cast<std::uint64_t>(width));
  }
}

TEST_P(RecurrenceGradients, JoinedColumns) {
  const std::int64_t rows = draw(1, 9), first = draw(1, 9), second = draw(1, 9);
  OperationCase join;
  join.name = "join columns";
  join.inputs = {{rows, first}, {rows, second}};
  join.operation = [](Tape& tape, Vars v) { return ops::join_columns(tape, {v[0], v[1], v[0]}); };
  join.plain = [=](Inputs v) {
    Numbers y;
    for (std::int64_t r = 0; r < rows; ++r)
      for (const auto& [part, width] : {std::pair(0, first), std::pair(1, second), std::pair(0, first)})
        for (std::int64_t c = 0; c < width; ++c)
          y.push_back(v[static_cast<std::size_t>(part)][static_cast<std::size_t>(r * width + c)]);
    return y;
  };
  check_operation(join, 1);
}

TEST_P(RecurrenceGradients, AdditiveAttention) {
  const std::vector<ops::KeyRange> ranges{{0, 3}, {0, 3}, {5, 6}, {6, 6}};
  const std::int64_t size = draw(1, 20), features = draw(1, 9), keys = 7;
  OperationCase attention;
  attention.name = "additive attention";
  attention.inputs = {{4, size}, {keys, size}, {keys, features}, {1, size}};
  attention.operation = [&](Tape& tape, Vars v) {
    return ops::additive_attention(tape, v[0], v[1], v[2], v[3], ranges).context;
  };
  attention.plain = [&](Inputs v) {
    Numbers y;
    for (std::size_t row = 0; row < ranges.size(); ++row) {
      Numbers weights, context(static_cast<std::size_t>(features), 0.0);
      double sum = 0.0;
      for (std::int32_t j = ranges[row].begin; j < ranges[row].end; ++j) {
        double score = 0.0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i)
          score += v[3][i] * std::tanh(v[0][row * static_cast<std::size_t>(size) + i] +
                                       v[1][static_cast<std::size_t>(j * size) + i]);
        weights.push_back(std::exp(score)), sum += weights.back();
      }
      for (std::size_t j = 0; j < weights.size(); ++j)
        for (std::size_t f = 0; f < context.size(); ++f)
          context[f] +=
              weights[j] / sum * v[2][(static_cast<std::size_t>(ranges[row].begin) + j) * context.size() + f];
      y.insert(y.end(), context.begin(), context.end());
    }
    return y;
  };
  check_operation(attention, 2);
}

TEST_P(RecurrenceGradients, AssembledRows) {
  const std::vector<std::int32_t> first{3, 0}, second{1, 4, 2};
  OperationCase assemble;
  assemble.name = "assemble rows";
  assemble.inputs = {{2, 5}, {3, 5}};
  assemble.operation = [&](Tape& tape, Vars v) {
    const ops::PlacedRows parts[] = {{v[0], first}, {v[1], second}};
    return ops::assemble_rows(tape, parts, 5);
  };
  assemble.plain = [&](Inputs v) {
    Numbers y(25);
    for (std::size_t r = 0; r < 2; ++r)
      std::copy_n(v[0].begin() + static_cast<std::ptrdiff_t>(r * 5), 5, y.begin() + first[r] * 5);
    for (std::size_t r = 0; r < 3; ++r)
      std::copy_n(v[1].begin() + static_cast<std::ptrdiff_t>(r * 5), 5, y.begin() + second[r] * 5);
    return y;
  };
  check_operation(assemble, 3);
}

// A sequence has the same bits alone and in any batch, with any number of threads.
TEST_P(RecurrenceGradients, BatchAndThreadsLeaveEveryBit) {
  for (const Cell cell : kCells) {
    const std::int64_t hidden = 33, width = kernels::gates_of(cell) * hidden;
    RaggedBuffer batch;
    for (const std::int64_t length : {4, 0, 7, 1, 30, 12})
      batch.add(length, static_cast<std::uint64_t>(length));
    const Ragged shape = batch.view();
    Tensor x = Tensor::empty({shape.tokens(), width}), weight = Tensor::empty({width, hidden});
    for (Tensor* tensor : {&x, &weight})
      for (std::int64_t i = 0; i < tensor->elements(); ++i)
        tensor->f32()[i] = static_cast<float>(stream_.next_normal()) * 0.3f;
    const auto run = [&](const Tensor& rows, const Ragged& of, int threads) {
      ThreadPool pool(threads);
      Arena arena;
      Tape tape(pool, arena);
      tape.begin({});
      ops::RecurrenceOptions options;
      options.cell = cell;
      return ops::recurrence(tape, tape.constant(rows), tape.constant(weight), nullptr, of, options)
          .hidden->value.clone();
    };
    const Tensor all = run(x, shape, 1), threaded = run(x, shape, 3);
    ASSERT_TRUE(std::equal(all.f32(), all.f32() + all.elements(), threaded.f32()));
    for (std::size_t s = 0; s + 1 < shape.offsets.size(); ++s) {
      const std::int32_t begin = shape.offsets[s], end = shape.offsets[s + 1];
      if (begin == end) continue;
      RaggedBuffer alone;
      alone.add(end - begin, 0);
      const Tensor one = run(x.slice_rows(begin, end).clone(), alone.view(), 1);
      ASSERT_TRUE(std::equal(one.f32(), one.f32() + one.elements(), all.row(begin))) << "sequence " << s;
    }
  }
}

TEST(Recurrence, WrongShapesAreRefused) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  RaggedBuffer batch;
  batch.add(3, 0);
  const Var x = tape.constant(arena.zeros({3, 8})), weight = tape.constant(arena.zeros({8, 2}));
  ops::RecurrenceOptions options;
  options.cell = Cell::gru;
  EXPECT_REGARD_ERROR(ops::recurrence(tape, x, weight, nullptr, batch.view(), options), ErrorKind::usage,
                      "do not match");
  options.cell = Cell::lstm;
  options.initial = tape.constant(arena.zeros({1, 2}));
  EXPECT_REGARD_ERROR(ops::recurrence(tape, x, weight, nullptr, batch.view(), options), ErrorKind::usage,
                      "initial");
  EXPECT_REGARD_ERROR(ops::windows(tape, x, batch.view(), 3, 3), ErrorKind::usage, "window");
}

REGARD_EACH_ISA(RecurrenceGradients);

}  // namespace
}  // namespace regard::testing
