#include "ops/attention.h"

#include <algorithm>
#include <array>
#include <string>

#include "kernels/attention.h"
#include "kernels/bf16_attention.h"
#include "kernels/rows.h"
#include "ops/attention_probe.h"
#include "ops/bf16_pages.h"
#include "ops/bf16_store.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

using kernels::AttentionSequence;

void check_columns(const Tape& tape, std::string_view name, const Columns& columns, std::int64_t width,
                   const Ragged& shape) {
  if (!reads_bf16(tape, columns.variable)) require_matrix("attention", name, columns.variable);
  if (columns.column < 0 || columns.column + width > columns.variable->value.columns())
    throw shape_error("attention",
                      std::string(name) + " is outside of the matrix: " + std::to_string(width) +
                          " features from feature " + std::to_string(columns.column),
                      {{name, columns.variable}})
        .expected("features 0 to " + std::to_string(columns.variable->value.columns() - 1));
  if (columns.variable->value.rows() != shape.tokens())
    throw shape_error("attention", std::string(name) + " has a wrong number of rows",
                      {{name, columns.variable}})
        .expected(std::to_string(shape.tokens()) + " rows, one for each token of the batch");
}

// Check the options. Return their AttentionSpec, with the defaults in place of zeros.
kernels::AttentionSpec checked(const AttentionOptions& options) {
  const kernels::AttentionSpec spec = options.resolved();
  if (spec.heads < 1 || spec.head_dim < 1 || spec.kv_heads < 1 || spec.heads % spec.kv_heads != 0)
    throw usage_error("attention: the number of key/value heads does not divide the number of heads")
        .found(std::to_string(spec.kv_heads) + " key/value heads, " + std::to_string(spec.heads) +
               " heads of " + std::to_string(spec.head_dim) + " features")
        .expected("a divisor of the number of heads, and sizes of at least 1");
  if (!(spec.dropout >= 0.0f && spec.dropout < 1.0f))
    throw usage_error("attention: the dropout rate is out of range")
        .found(std::to_string(spec.dropout))
        .expected("at least 0 and less than 1");
  if (options.bias != nullptr) require_contiguous("attention", "bias", options.bias);
  return spec;
}

// Arguments of the attention kernel. own_sequences is a mutable view of `sequences`, which are stored in the
// tape's arena.
struct AttentionProblem : kernels::Attention {
  std::span<AttentionSequence> own_sequences;

  void set_sequences(std::span<AttentionSequence> all) { sequences = own_sequences = all; }
};

// Set the kernel's arguments except keys, values, gradients, and operands stored as bf16 (see set_stored()).
AttentionProblem make_problem(Tape& tape, const Columns& query, const Ragged& queries, Var out,
                              const AttentionOptions& options, const kernels::AttentionSpec& spec) {
  AttentionProblem problem;
  static_cast<kernels::AttentionSpec&>(problem) = spec;
  const kernels::AttentionMask& mask = options;
  const kernels::AttentionBiasStrides& bias_strides = options;
  static_cast<kernels::AttentionMask&>(problem) = mask;
  static_cast<kernels::AttentionBiasStrides&>(problem) = bias_strides;
  problem.bias = options.bias != nullptr ? options.bias->value.f32() : nullptr;
  if (!tape.options().training) problem.dropout = 0.0f;
  problem.dropout_key = tape.key(options.dropout_place);
  if (!is_bf16(query.variable)) problem.query = query.variable->value.f32() + query.column;
  problem.query_stride = query.variable->value.row_stride();
  if (!is_bf16(out)) problem.out = out->value.f32();
  problem.out_stride = out->value.columns();
  const std::span<AttentionSequence> sequences =
      tape.arena().array<AttentionSequence>(static_cast<std::size_t>(queries.sequences()));
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    AttentionSequence& sequence = sequences[s];
    sequence.query_begin = queries.offsets[s];
    sequence.queries = queries.offsets[s + 1] - queries.offsets[s];
    sequence.mask_row = static_cast<std::int64_t>(s);
    if (sequence.queries > 0 && !queries.sequence_index.empty())
      sequence.index = queries.sequence_index[static_cast<std::size_t>(sequence.query_begin)];
  }
  problem.set_sequences(sequences);
  return problem;
}

void set_keys(AttentionSequence& sequence, std::int64_t keys, CausalAlignment alignment) {
  sequence.keys = keys;
  sequence.offset = alignment == CausalAlignment::end ? keys - sequence.queries : 0;
}

bool same_keys(const AttentionSequence& a, const AttentionSequence& b) {
  if (a.pages.at == nullptr || b.pages.at == nullptr || a.keys != b.keys) return false;
  const std::int64_t pages = (a.keys + a.pages.rows - 1) / a.pages.rows;
  return std::equal(a.pages.at, a.pages.at + pages, b.pages.at);
}

// Merge adjacent sequences that have the same pages, such as the beams of one input, so that their keys are
// read once. A causal mask, window, mask, bias or dropout prevents merging, because each depends on the
// sequence of the query.
void join_neighbours(AttentionProblem& problem) {
  if (problem.causal || problem.window > 0 || problem.mask != nullptr || problem.bias != nullptr ||
      problem.dropout > 0.0f || problem.sequences.empty())
    return;
  const std::span<AttentionSequence> all = problem.own_sequences;
  std::size_t last = 0;
  for (std::size_t s = 1; s < all.size(); ++s) {
    if (all[last].query_begin + all[last].queries == all[s].query_begin && same_keys(all[last], all[s]))
      all[last].queries += all[s].queries;
    else
      all[++last] = all[s];
  }
  problem.set_sequences(all.first(last + 1));
}

// Report queries, keys or values [tokens, heads × size] to the probe, with position encodings applied.
void show_columns(Tape& tape, std::string_view point, const char* what, const Columns& columns,
                  std::int64_t width) {
  if (tape.probe == nullptr || point.empty()) return;
  const std::string name = std::string(point) + "." + what;
  if (tape.probe->wants(name))
    tape.probe->see(name, -1, columns.variable->value.slice_columns(columns.column, columns.column + width));
}

struct Operands {
  Columns query, key, value;

  bool stored() const { return is_bf16(query.variable); }  // true if query, key and value are stored as bf16
  std::array<Columns, 3> list() const { return {query, key, value}; }
};

// Return true if the bf16 kernel supports the problem. Otherwise the f32 kernel is used with widened
// operands.
bool uses_bf16(const AttentionProblem& problem, const Operands& operands, Var out) {
  return operands.stored() && is_bf16(out) && kernels::bf16_attention_supports(problem);
}

kernels::Bf16Operands bf16_operands(const Operands& operands, Var out) {
  const auto data = [](const Columns& part) { return bf16_data(part.variable->value) + part.column; };
  return {data(operands.query), data(operands.key), data(operands.value), bf16_data(out->value)};
}

// Widen operands that are stored as bf16 to f32 arrays in the tape's arena, and set the kernel's pointers to
// them. The keys of all sequences are concatenated.
void set_stored(Tape& tape, AttentionProblem& problem, const Operands& operands) {
  if (!operands.stored()) return;
  const std::array<Columns, 3> parts = operands.list();
  std::array<const float*, 3> values{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t same = 0;
    while (parts[same].variable != parts[i].variable) ++same;
    values[i] = same < i ? values[same] - parts[same].column : widened(tape, parts[i].variable->value);
    values[i] += parts[i].column;
  }
  problem.query = values[0];
  std::int64_t row = 0;
  for (AttentionSequence& sequence : problem.own_sequences) {
    sequence.key = values[1] + row * problem.key_stride;
    sequence.value = values[2] + row * problem.value_stride;
    row += sequence.keys;
  }
}

// Run the forward pass. Return the heads whose attention weights the probe replaced; the span is empty if the
// tape does not record. If operands or the result are stored as bf16, the tape must have no probe.
std::span<const ReplacedHead> run(Tape& tape, AttentionProblem& problem, const Operands& operands, Var out,
                                  bool wanted, std::string_view point) {
  const bool probed = probes_weights(tape, point, problem.heads);
  const std::int64_t tokens = out->value.rows();
  if (wanted || probed) problem.lse = tape.arena().tensor({tokens, problem.heads}).f32();
  if (uses_bf16(problem, operands, out)) {
    kernels::bf16_attention_forward(tape.pool(), problem, bf16_operands(operands, out));
    return {};
  }
  if (operands.stored() || is_bf16(out)) {
    const TemporaryValues temporary(tape);
    set_stored(tape, problem, operands);
    if (is_bf16(out)) problem.out = tape.arena().tensor(out->value.shape()).f32();
    kernels::attention_forward(tape.pool(), problem);
    if (is_bf16(out)) store_rounded(tape, problem.out, out->value);
    return {};
  }
  kernels::attention_forward(tape.pool(), problem);
  return probed ? probe_weights(tape, problem, point) : std::span<const ReplacedHead>();
}

// Run the forward pass of a problem whose sequences all have bf16 pages.
void run_bf16_pages(Tape& tape, AttentionProblem& problem, Var out, std::string_view point) {
  const bool probed = probes_weights(tape, point, problem.heads);
  if (probed) problem.lse = tape.arena().tensor({out->value.rows(), problem.heads}).f32();
  bf16_attention(tape, problem, probed, point);
}

struct AttentionNode : Tape::Node {
  Operands operands;
  Var bias;
  AttentionProblem problem;
  std::span<const ReplacedHead> replaced;
  static void backward(AttentionNode& node, Tape& tape);
};

}  // namespace

Var attention(Tape& tape, Columns query, Columns key, Columns value, const Ragged& queries,
              const Ragged& keys, const AttentionOptions& options) {
  const kernels::AttentionSpec spec = checked(options);
  check_columns(tape, "query", query, spec.heads * spec.head_dim, queries);
  check_columns(tape, "key", key, spec.kv_heads * spec.head_dim, keys);
  check_columns(tape, "value", value, spec.kv_heads * spec.value_dim, keys);
  const Operands operands{query, key, value};
  for (const Columns& part : operands.list())
    if (is_bf16(part.variable) != operands.stored())
      throw usage_error("attention: query, key and value differ in dtype").expected("all f32 or all bf16");
  if (queries.sequences() != keys.sequences())
    throw usage_error("attention: queries and keys differ in the number of sequences")
        .found(std::to_string(keys.sequences()) + " sequences of keys")
        .expected(std::to_string(queries.sequences()) + " sequences, as in the queries");
  show_columns(tape, options.point, "query", query, spec.heads * spec.head_dim);
  show_columns(tape, options.point, "key", key, spec.kv_heads * spec.head_dim);
  show_columns(tape, options.point, "value", value, spec.kv_heads * spec.value_dim);
  const bool wanted = tape.wanted({query.variable, key.variable, value.variable, options.bias});
  const Shape shape{queries.tokens(), spec.heads * spec.value_dim};
  const bool stores = options.store_bf16 && stores_bf16(tape);
  Var out = stores ? make_bf16(tape, shape, wanted) : tape.make(shape, wanted);
  AttentionProblem problem = make_problem(tape, query, queries, out, options, spec);
  const Tensor &k = key.variable->value, &v = value.variable->value;
  problem.key_stride = k.row_stride(), problem.value_stride = v.row_stride();
  const std::span<AttentionSequence> sequences = problem.own_sequences;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const std::int64_t begin = keys.offsets[s], count = keys.offsets[s + 1] - begin;
    if (!operands.stored())
      sequences[s].key = k.row(begin) + key.column, sequences[s].value = v.row(begin) + value.column;
    set_keys(sequences[s], count, options.causal_alignment);
  }
  if (!tape.recording() && options.precision == kernels::Precision::bf16) {
    copy_to_bf16_pages(tape, problem, sequences);
    run_bf16_pages(tape, problem, out, options.point);
    return out;
  }
  const std::span<const ReplacedHead> replaced = run(tape, problem, operands, out, wanted, options.point);
  if (wanted) {
    AttentionNode node;
    node.operands = operands, node.bias = options.bias, node.out = out;
    node.problem = problem, node.replaced = replaced;
    tape.record(node);
  }
  return out;
}

Var attention_cached(Tape& tape, Columns query, std::span<const CachedKeys> keys, const Ragged& queries,
                     const AttentionOptions& options) {
  const kernels::AttentionSpec spec = checked(options);
  check_columns(tape, "query", query, spec.heads * spec.head_dim, queries);
  if (tape.recording())
    throw usage_error("attention: a pass with cached keys cannot record gradients")
        .remedy("Train without a cache");
  if (queries.sequences() != static_cast<std::int64_t>(keys.size()))
    throw usage_error("attention: queries and cached keys differ in the number of sequences")
        .found(std::to_string(keys.size()) + " sequences of keys")
        .expected(std::to_string(queries.sequences()) + " sequences, as in the queries");
  Var out = tape.make({queries.tokens(), spec.heads * spec.value_dim}, false);
  AttentionProblem problem = make_problem(tape, query, queries, out, options, spec);
  const std::span<AttentionSequence> sequences = problem.own_sequences;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    sequences[s].pages = keys[s].pages;
    set_keys(sequences[s], keys[s].keys, options.causal_alignment);
  }
  if (!probes_weights(tape, options.point, spec.heads)) join_neighbours(problem);
  if (!keys.empty() && keys[0].pages.bf16)
    run_bf16_pages(tape, problem, out, options.point);
  else
    run(tape, problem, {query, {}, {}}, out, false, options.point);
  return out;
}

namespace {

// Memory that the kernel overwrites with the gradients of a variable's columns.
struct GradientTarget {
  Var variable = nullptr;
  float* data = nullptr;  // [rows, features]
  // True if `data` is a temporary buffer. If the variable needs a gradient, the buffer is added to the
  // gradient.
  bool apart = false;
};

// The targets of query, key and value. Columns of the same variable share one target, unless they overlap.
struct GradientTargets {
  std::array<GradientTarget, 3> list;
  std::size_t count = 0;

  GradientTarget& of(Tape& tape, Var variable, std::int64_t columns_read) {
    for (std::size_t i = 0; i < count; ++i)
      if (list[i].variable == variable) return list[i];
    return add(tape, variable, columns_read);
  }

  // Add a target. If attention does not read all columns of the variable, initialise the target with zeros.
  GradientTarget& add(Tape& tape, Var variable, std::int64_t columns_read) {
    GradientTarget& target = list[count++];
    target.variable = variable;
    const Shape shape = variable->value.shape();
    if (const Tape::Gradient gradient = tape.gradient(variable);
        gradient.data != nullptr && !gradient.accumulate)
      target.data = gradient.data;
    else  // the kernel computes the gradients of query, key and value even if only some are needed
      target.data = tape.take(shape.elements()), target.apart = true;
    if (columns_read < shape.back()) std::fill_n(target.data, shape.elements(), 0.0f);
    return target;
  }
};

// Return which of query, key and value have columns in common with an earlier one, such as keys that are also
// the values. The kernel overwrites the gradient of each, so these need separate targets.
std::array<bool, 3> find_overlaps(const std::array<Columns, 3>& parts,
                                  const std::array<std::int64_t, 3>& widths) {
  std::array<bool, 3> overlaps{};
  for (std::size_t i = 1; i < 3; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (parts[i].variable == parts[j].variable && parts[i].column < parts[j].column + widths[j] &&
          parts[j].column < parts[i].column + widths[i])
        overlaps[i] = true;
  return overlaps;
}

void AttentionNode::backward(AttentionNode& node, Tape& tape) {
  AttentionProblem& problem = node.problem;
  const std::array<Columns, 3> parts = node.operands.list();
  const std::array<std::int64_t, 3> widths{problem.heads * problem.head_dim,
                                           problem.kv_heads * problem.head_dim,
                                           problem.kv_heads * problem.value_dim};
  const std::array<bool, 3> overlaps = find_overlaps(parts, widths);
  GradientTargets targets;
  std::array<float*, 3> gradients{};
  std::array<std::int64_t, 3> strides{};
  for (std::size_t i = 0; i < 3; ++i) {
    std::int64_t read = 0;
    for (std::size_t j = 0; j < 3; ++j)
      if (!overlaps[j] && parts[j].variable == parts[i].variable) read += widths[j];
    const GradientTarget& target = overlaps[i] ? targets.add(tape, parts[i].variable, widths[i])
                                               : targets.of(tape, parts[i].variable, read);
    gradients[i] = target.data + parts[i].column;
    strides[i] = parts[i].variable->value.columns();
  }
  problem.out_gradient = node.out->gradient.f32(), problem.out_gradient_stride = node.out->value.columns();
  problem.query_gradient = gradients[0], problem.query_gradient_stride = strides[0];
  problem.key_gradient_stride = strides[1], problem.value_gradient_stride = strides[2];
  std::int64_t row = 0;  // first row of the sequence in the concatenated keys of all sequences
  for (AttentionSequence& sequence : problem.own_sequences) {
    sequence.key_gradient = gradients[1] + row * strides[1];
    sequence.value_gradient = gradients[2] + row * strides[2];
    row += sequence.keys;
  }
  problem.bias_gradient = tape.accumulated(node.bias);
  if (uses_bf16(problem, node.operands, node.out)) {
    kernels::bf16_attention_backward(tape.pool(), problem, bf16_operands(node.operands, node.out));
  } else {
    const TemporaryValues temporary(tape);
    set_stored(tape, problem, node.operands);
    problem.out = widened(tape, node.out->value);
    attention_backward(tape, problem, node.replaced);
  }
  for (std::size_t i = 0; i < targets.count; ++i) {
    const GradientTarget& target = targets.list[i];
    if (target.apart && target.variable->needs_gradient)
      kernels::axpy(tape.pool(), 1.0f, target.data, tape.gradient(target.variable).data,
                    target.variable->value.elements());
    if (target.apart) tape.recycle(target.data, target.variable->value.elements());
  }
}

}  // namespace
}  // namespace regard::ops
