#include "ops/additive_attention.h"

#include <algorithm>

#include "kernels/rows.h"
#include "kernels/vector_math.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct AdditiveNode : Tape::Node {
  Var query, key, value, score;
  std::span<const KeyRange> keys;
  std::span<float> weights;
  std::span<std::int64_t> first;  // [rows]: index in `weights` of each row's first attention weight
  static void backward(AdditiveNode& node, Tape& tape);
};

void check(Var query, Var key, Var value, Var score, std::span<const KeyRange> keys) {
  constexpr const char* kName = "additive attention";
  require_matrix(kName, "query", query);
  require_matrix(kName, "key", key);
  require_matrix(kName, "value", value);
  for (Var one : {query, key, value, score}) require_contiguous(kName, "an input", one);
  if (key->value.columns() != query->value.columns() || score->value.elements() != key->value.columns() ||
      key->value.rows() != value->value.rows() || std::ssize(keys) != query->value.rows())
    throw shape_error(kName, "the shapes do not match",
                      {{"query", query}, {"key", key}, {"value", value}, {"score", score}})
        .expected("query [" + std::to_string(keys.size()) +
                  ", size], key [keys, size], value [keys, features], score [size]");
  for (const KeyRange& range : keys)
    if (range.begin < 0 || range.end < range.begin || range.end > key->value.rows())
      throw usage_error("additive attention: a query's range of keys is invalid")
          .found("begin " + std::to_string(range.begin) + ", end " + std::to_string(range.end))
          .expected("0 <= begin <= end <= " + std::to_string(key->value.rows()));
}

// Write tanh(query + key) of one query and one key to hidden [size].
void hidden_of(const float* query, const float* key, std::int64_t size, float* hidden) {
  for (std::int64_t i = 0; i < size; ++i) hidden[i] = query[i] + key[i];
  kernels::evaluate(kernels::Function::tanh, hidden, hidden, size);
}

void attend(const AdditiveNode& node, std::int64_t row, float* hidden) {
  const KeyRange range = node.keys[static_cast<std::size_t>(row)];
  const std::int64_t size = node.query->value.columns(), features = node.value->value.columns();
  float* const weight = node.weights.data() + node.first[static_cast<std::size_t>(row)];
  float* const context = node.out->value.row(row);
  std::fill_n(context, features, 0.0f);
  const std::int64_t count = range.end - range.begin;
  if (count == 0) return;
  for (std::int64_t j = 0; j < count; ++j) {
    hidden_of(node.query->value.row(row), node.key->value.row(range.begin + j), size, hidden);
    weight[j] = kernels::dot_in_order(node.score->value.f32(), hidden, size);
  }
  const float most = *std::max_element(weight, weight + count);
  for (std::int64_t j = 0; j < count; ++j) weight[j] -= most;
  kernels::evaluate(kernels::Function::exp, weight, weight, count);
  float sum = 0.0f;
  for (std::int64_t j = 0; j < count; ++j) sum += weight[j];
  for (std::int64_t j = 0; j < count; ++j) {
    weight[j] /= sum;
    const float* const value = node.value->value.row(range.begin + j);
    for (std::int64_t f = 0; f < features; ++f) context[f] += weight[j] * value[f];
  }
}

struct AdditiveGradients {
  float *query, *key, *value;  // destinations of the gradients; null if not needed
  float* score;                // [rows, size]: each row's contribution to the gradient of `score`
};

void attend_backward(const AdditiveNode& node, const AdditiveGradients& to, std::int64_t row, float* hidden,
                     float* slope) {
  const KeyRange range = node.keys[static_cast<std::size_t>(row)];
  const std::int64_t size = node.query->value.columns(), features = node.value->value.columns();
  const float* const weight = node.weights.data() + node.first[static_cast<std::size_t>(row)];
  const float* const dy = node.out->gradient.row(row);
  const float* const v = node.score->value.f32();
  const std::int64_t count = range.end - range.begin;
  float mean = 0.0f;  // sum of each weight times its gradient
  for (std::int64_t j = 0; j < count; ++j) {
    slope[j] = kernels::dot_in_order(dy, node.value->value.row(range.begin + j), features);
    mean += weight[j] * slope[j];
    if (to.value == nullptr) continue;
    float* const dv = to.value + (range.begin + j) * features;
    for (std::int64_t f = 0; f < features; ++f) dv[f] += weight[j] * dy[f];
  }
  float* const ds = to.score + row * size;
  std::fill_n(ds, size, 0.0f);
  for (std::int64_t j = 0; j < count; ++j) {
    const float de = weight[j] * (slope[j] - mean);
    hidden_of(node.query->value.row(row), node.key->value.row(range.begin + j), size, hidden);
    for (std::int64_t i = 0; i < size; ++i) {
      ds[i] += de * hidden[i];
      const float inner = de * v[i] * (1.0f - hidden[i] * hidden[i]);
      if (to.query != nullptr) to.query[row * size + i] += inner;
      if (to.key != nullptr) to.key[(range.begin + j) * size + i] += inner;
    }
  }
}

// Call body(row) for every row. Consecutive rows with equal ranges run in the same task, because they add to
// the gradients of the same keys and values.
template <class Body>
void each_group(ThreadPool& pool, Arena& arena, std::span<const KeyRange> keys, Body&& body) {
  const std::span<std::int64_t> starts = arena.array<std::int64_t>(keys.size() + 1);
  std::int64_t groups = 0;
  for (std::size_t row = 0; row < keys.size(); ++row)
    if (row == 0 || keys[row].begin != keys[row - 1].begin)
      starts[static_cast<std::size_t>(groups++)] = static_cast<std::int64_t>(row);
  starts[static_cast<std::size_t>(groups)] = std::ssize(keys);
  pool.parallel_for(groups, [&](std::int64_t group, int) {
    const auto at = static_cast<std::size_t>(group);
    for (std::int64_t row = starts[at]; row < starts[at + 1]; ++row) body(row);
  });
}

std::int64_t longest(std::span<const KeyRange> keys) {
  std::int64_t most = 0;
  for (const KeyRange& range : keys) most = std::max<std::int64_t>(most, range.end - range.begin);
  return most;
}

void AdditiveNode::backward(AdditiveNode& node, Tape& tape) {
  const std::int64_t rows = node.query->value.rows(), size = node.query->value.columns();
  const std::int64_t most = longest(node.keys);
  AdditiveGradients to{tape.accumulated(node.query), tape.accumulated(node.key), tape.accumulated(node.value),
                       tape.take(rows * size)};
  float* const scratch = tape.take(rows * (size + most));
  each_group(tape.pool(), tape.arena(), node.keys, [&](std::int64_t row) {
    float* const own = scratch + row * (size + most);
    attend_backward(node, to, row, own, own + size);
  });
  if (float* const dv = tape.accumulated(node.score))
    kernels::sum_rows(tape.pool(), to.score, size, rows, size, dv);
  tape.recycle(to.score, rows * size);
  tape.recycle(scratch, rows * (size + most));
}

}  // namespace

AdditiveAttention additive_attention(Tape& tape, Var query, Var key, Var value, Var score,
                                     std::span<const KeyRange> keys) {
  check(query, key, value, score, keys);
  const std::int64_t rows = query->value.rows(), size = query->value.columns();
  const bool wanted = tape.wanted({query, key, value, score});
  AdditiveNode node;
  node.query = query, node.key = key, node.value = value, node.score = score, node.keys = keys;
  node.out = tape.make({rows, value->value.columns()}, wanted);
  node.first = tape.arena().array<std::int64_t>(keys.size());
  std::int64_t pairs = 0;
  for (std::size_t row = 0; row < keys.size(); ++row) {
    node.first[row] = pairs;
    pairs += keys[row].end - keys[row].begin;
  }
  node.weights = tape.arena().array<float>(static_cast<std::size_t>(pairs));
  const Tensor scratch = tape.arena().tensor({rows, size});
  tape.pool().parallel_for(rows, [&](std::int64_t row, int) { attend(node, row, scratch.row(row)); });
  if (wanted) tape.record(node);
  return {node.out, node.weights};
}

}  // namespace regard::ops
