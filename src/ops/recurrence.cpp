#include "ops/recurrence.h"

#include <algorithm>
#include <numeric>

#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

using kernels::Cell;
using kernels::Gemm;
using kernels::PackedMatrix;

void check(Var x, Var weight, Var bias, const Ragged& shape, const RecurrenceOptions& options) {
  require_matrix("recurrence", "x", x);
  require_matrix("recurrence", "weight", weight);
  require_contiguous("recurrence", "weight", weight);
  const std::int64_t hidden = weight->value.columns(), width = kernels::gates_of(options.cell) * hidden;
  if (weight->value.rows() != width || x->value.columns() != width)
    throw shape_error("recurrence", "x and the weight do not match", {{"x", x}, {"weight", weight}})
        .expected("x with " + std::to_string(width) + " features, and a weight [" + std::to_string(width) +
                  ", " + std::to_string(hidden) + "]");
  require_vector("recurrence", "bias", bias, width);
  require_ragged("recurrence", shape, x->value.rows());
  if (options.initial == nullptr) return;
  require_matrix("recurrence", "initial", options.initial);
  require_contiguous("recurrence", "initial", options.initial);
  const std::int64_t state = options.cell == Cell::lstm ? 2 * hidden : hidden;
  if (options.initial->value.rows() != shape.sequences() || options.initial->value.columns() != state)
    throw shape_error("recurrence", "the initial state has a wrong shape",
                      {{"initial", options.initial}, {"weight", weight}})
        .expected("[" + std::to_string(shape.sequences()) + ", " + std::to_string(state) + "]");
}

// The order of rows in each step. Sequences are sorted by length, longest first, so the sequences that have a
// token at a step are the first rows.
struct Steps {
  std::span<std::int32_t> sequence;  // [sequences]: the sequence of each row
  std::span<std::int32_t> token;     // [tokens]: the tokens of step 0, then those of step 1, …
  std::span<std::int32_t> first;     // [steps + 1]: start of each step in `token`

  std::int64_t count() const { return std::ssize(first) - 1; }
  std::int64_t rows(std::int64_t step) const {
    const auto at = static_cast<std::size_t>(step);
    return first[at + 1] - first[at];
  }
  const std::int32_t* tokens_of(std::int64_t step) const {
    return token.data() + first[static_cast<std::size_t>(step)];
  }
};

Steps plan(Tape& tape, const Ragged& shape, bool reverse) {
  const auto length = [&](std::int32_t s) {
    return shape.offsets[static_cast<std::size_t>(s) + 1] - shape.offsets[static_cast<std::size_t>(s)];
  };
  Arena& arena = tape.arena();
  Steps steps;
  steps.sequence = arena.array<std::int32_t>(static_cast<std::size_t>(shape.sequences()));
  std::iota(steps.sequence.begin(), steps.sequence.end(), 0);
  std::sort(steps.sequence.begin(), steps.sequence.end(), [&](std::int32_t a, std::int32_t b) {
    return length(a) != length(b) ? length(a) > length(b) : a < b;
  });
  const std::int32_t longest = steps.sequence.empty() ? 0 : length(steps.sequence[0]);
  steps.token = arena.array<std::int32_t>(static_cast<std::size_t>(shape.tokens()));
  steps.first = arena.array<std::int32_t>(static_cast<std::size_t>(longest) + 1);
  std::size_t next = 0;
  for (std::int32_t t = 0; t < longest; ++t) {
    steps.first[static_cast<std::size_t>(t)] = static_cast<std::int32_t>(next);
    for (const std::int32_t s : steps.sequence) {
      if (length(s) <= t) break;
      const auto at = static_cast<std::size_t>(s);
      steps.token[next++] = reverse ? shape.offsets[at + 1] - 1 - t : shape.offsets[at] + t;
    }
  }
  steps.first[static_cast<std::size_t>(longest)] = static_cast<std::int32_t>(next);
  return steps;
}

const float* gradient_of(Var variable) {
  return variable != nullptr && variable->gradient_started ? variable->gradient.f32() : nullptr;
}

struct RecurrenceNode : Tape::Node {
  Var x, weight, bias, initial, cell_out;
  Cell cell;
  Steps steps;
  float *gates, *candidate;
  bool has_gradient() const { return gradient_of(out) != nullptr || gradient_of(cell_out) != nullptr; }
  static void backward(RecurrenceNode& node, Tape& tape);
};

// Copy columns [column, column + width) of `initial` to `state`, with rows in step order. If `initial` is
// null, write zeros.
void start_state(Var initial, const Steps& steps, std::int64_t column, std::int64_t width, float* state) {
  for (std::size_t row = 0; row < steps.sequence.size(); ++row) {
    float* to = state + static_cast<std::int64_t>(row) * width;
    if (initial == nullptr)
      std::fill_n(to, width, 0.0f);
    else
      std::copy_n(initial->value.row(steps.sequence[row]) + column, width, to);
  }
}

// Return the packed operand B: W_hhᵀ [hidden, gates × hidden], or W_hh for the backward pass.
PackedMatrix packed_weight(Tape& tape, Var weight, bool transposed) {
  Gemm shape;
  shape.k = transposed ? weight->value.columns() : weight->value.rows();
  shape.n = transposed ? weight->value.rows() : weight->value.columns();
  shape.b = weight->value.f32(), shape.ldb = weight->value.columns();
  shape.transpose_b = transposed;
  return kernels::pack(tape.pool(), shape, tape.take(kernels::packed_floats(shape.k, shape.n)));
}

void run_steps(Tape& tape, const RecurrenceNode& node, kernels::RecurrentStep step,
               const PackedMatrix& packed) {
  const Steps& steps = node.steps;
  const std::int64_t rows = std::ssize(steps.sequence), width = kernels::gates_of(step.cell) * step.hidden;
  step.h = tape.arena().tensor({rows, step.hidden}).f32();
  start_state(node.initial, steps, 0, step.hidden, step.h);
  if (step.cell == Cell::lstm) {
    step.c = tape.arena().tensor({rows, step.hidden}).f32();
    start_state(node.initial, steps, step.hidden, step.hidden, step.c);
  }
  float* const s = tape.arena().tensor({rows, width}).f32();
  step.s = s;
  Gemm product;
  product.n = width, product.k = step.hidden;
  product.a = step.h, product.lda = step.hidden;
  product.packed = &packed;
  product.c = s, product.ldc = width;
  if (node.bias != nullptr) product.epilogue.bias = node.bias->value.f32();
  for (std::int64_t t = 0; t < steps.count(); ++t) {
    step.rows = product.m = steps.rows(t);
    step.token = steps.tokens_of(t);
    kernels::gemm(tape.pool(), product);
    kernels::recurrent_step(tape.pool(), step);
  }
}

}  // namespace

Recurrence recurrence(Tape& tape, Var x, Var weight, Var bias, const Ragged& shape,
                      const RecurrenceOptions& options) {
  check(x, weight, bias, shape, options);
  const std::int64_t tokens = x->value.rows(), hidden = weight->value.columns();
  const bool wanted = tape.wanted({x, weight, bias, options.initial});
  Recurrence made;
  made.hidden = tape.make({tokens, hidden}, wanted);
  if (options.cell == Cell::lstm) made.cell = tape.make({tokens, hidden}, wanted);

  RecurrenceNode node;
  node.x = x, node.weight = weight, node.bias = bias, node.initial = options.initial;
  node.cell_out = made.cell, node.out = made.hidden;
  node.cell = options.cell;
  node.steps = plan(tape, shape, options.reverse);
  node.gates = node.candidate = nullptr;
  if (wanted && (options.cell == Cell::lstm || options.cell == Cell::gru))
    node.gates = tape.arena().tensor({tokens, x->value.columns()}).f32();
  if (wanted && options.cell == Cell::gru) node.candidate = tape.arena().tensor({tokens, hidden}).f32();

  kernels::RecurrentStep step;
  step.cell = options.cell, step.hidden = hidden;
  step.x = x->value.f32(), step.x_stride = x->value.row_stride();
  step.out = made.hidden->value.f32();
  step.cells = made.cell == nullptr ? nullptr : made.cell->value.f32();
  step.gates = node.gates, step.candidate = node.candidate;
  if (!wanted && options.packed != nullptr && !options.packed->empty())
    run_steps(tape, node, step, *options.packed);
  else
    run_steps(tape, node, step, packed_weight(tape, weight, true));
  if (wanted) tape.record(node);
  return made;
}

namespace {

// Return the state before each token [tokens, hidden], in token order. In the first step, the state is
// columns [column, column + hidden) of the initial state, or zeros. In later steps, the state is the row of
// `after` for the token of the preceding step.
float* states_before(Tape& tape, const RecurrenceNode& node, const float* after, std::int64_t column) {
  const Steps& steps = node.steps;
  const std::int64_t hidden = node.weight->value.columns();
  float* const before = tape.take(std::ssize(steps.token) * hidden);
  tape.pool().parallel_for(steps.count(), [&](std::int64_t t, int) {
    for (std::int64_t row = 0; row < steps.rows(t); ++row) {
      float* to = before + steps.tokens_of(t)[row] * hidden;
      if (t > 0)
        std::copy_n(after + steps.tokens_of(t - 1)[row] * hidden, hidden, to);
      else if (node.initial == nullptr)
        std::fill_n(to, hidden, 0.0f);
      else
        std::copy_n(node.initial->value.row(steps.sequence[static_cast<std::size_t>(row)]) + column, hidden,
                    to);
    }
  });
  return before;
}

// Run the backward pass from the last step to the first. It computes step.dx and, for the GRU,
// step.ds_by_token. At the end, step.dh and step.dc contain the gradient of the initial state.
void run_steps_backward(Tape& tape, const RecurrenceNode& node, kernels::RecurrentStepBackward step) {
  const Steps& steps = node.steps;
  const std::int64_t width = node.weight->value.rows(), rows = std::ssize(steps.sequence);
  const PackedMatrix packed = packed_weight(tape, node.weight, false);
  step.ds = tape.arena().tensor({rows, width}).f32();
  Gemm product;  // dh += ds W_hh
  product.n = step.hidden, product.k = width;
  product.a = step.ds, product.lda = width;
  product.packed = &packed;
  product.c = step.dh, product.ldc = step.hidden, product.accumulate = true;
  for (std::int64_t t = steps.count() - 1; t >= 0; --t) {
    step.rows = product.m = steps.rows(t);
    step.token = steps.tokens_of(t);
    kernels::recurrent_step_backward(tape.pool(), step);
    kernels::gemm(tape.pool(), product);
  }
}

// Compute dW_hh += Σ ds h_beforeᵀ and db_hh += Σ ds, summed over the tokens in batch order.
void weight_gradients(Tape& tape, const RecurrenceNode& node, const float* ds, const float* h_before) {
  const std::int64_t tokens = std::ssize(node.steps.token), width = node.weight->value.rows();
  if (const Tape::Gradient dw = tape.gradient(node.weight); dw.data != nullptr) {
    Gemm product;
    product.m = width, product.n = node.weight->value.columns(), product.k = tokens;
    product.a = ds, product.lda = width, product.transpose_a = true;
    product.b = h_before, product.ldb = product.n;
    product.c = dw.data, product.ldc = product.n, product.accumulate = dw.accumulate;
    kernels::gemm(tape.pool(), product);
  }
  if (float* db = tape.accumulated(node.bias)) kernels::sum_rows(tape.pool(), ds, width, tokens, width, db);
}

void initial_gradient(Tape& tape, const RecurrenceNode& node, const float* dh, const float* dc) {
  float* const to = tape.accumulated(node.initial);
  if (to == nullptr) return;
  const std::int64_t hidden = node.weight->value.columns(), state = node.initial->value.columns();
  for (std::size_t row = 0; row < node.steps.sequence.size(); ++row) {
    float* at = to + node.steps.sequence[row] * state;
    const std::int64_t from = static_cast<std::int64_t>(row) * hidden;
    for (std::int64_t i = 0; i < hidden; ++i) at[i] += dh[from + i];
    for (std::int64_t i = 0; dc != nullptr && i < hidden; ++i) at[hidden + i] += dc[from + i];
  }
}

void RecurrenceNode::backward(RecurrenceNode& node, Tape& tape) {
  kernels::RecurrentStepBackward step;
  step.out_gradient = gradient_of(node.out), step.cell_gradient = gradient_of(node.cell_out);
  const std::int64_t hidden = node.weight->value.columns(), width = node.weight->value.rows();
  const std::int64_t tokens = std::ssize(node.steps.token), rows = std::ssize(node.steps.sequence);
  step.cell = node.cell, step.hidden = hidden;
  step.gates = node.gates, step.candidate = node.candidate;
  step.out = node.out->value.f32();
  float* const h_before = states_before(tape, node, step.out, 0);
  step.h_before = h_before;
  float* c_before = nullptr;
  step.dh = tape.arena().zeros({rows, hidden}).f32();
  if (node.cell == Cell::lstm) {
    step.cells = node.cell_out->value.f32();
    step.c_before = c_before = states_before(tape, node, step.cells, hidden);
    step.dc = tape.arena().zeros({rows, hidden}).f32();
  }
  const Tape::Gradient dx = tape.gradient(node.x);
  const bool direct = dx.data != nullptr && !dx.accumulate;
  step.dx = direct ? dx.data : tape.take(tokens * width);
  if (node.cell == Cell::gru) step.ds_by_token = tape.take(tokens * width);
  run_steps_backward(tape, node, step);
  weight_gradients(tape, node, node.cell == Cell::gru ? step.ds_by_token : step.dx, h_before);
  initial_gradient(tape, node, step.dh, step.dc);
  if (dx.data != nullptr && !direct) kernels::axpy(tape.pool(), 1.0f, step.dx, dx.data, tokens * width);
  if (!direct) tape.recycle(step.dx, tokens * width);
  tape.recycle(step.ds_by_token, tokens * width);
  tape.recycle(h_before, tokens * hidden);
  tape.recycle(c_before, tokens * hidden);
  tape.recycle(node.gates, tokens * width);
  tape.recycle(node.candidate, tokens * hidden);
}

}  // namespace
}  // namespace regard::ops
