#include "models/search_decoder.h"

#include <algorithm>

#include "nn/branch.h"
#include "ops/additive_attention.h"
#include "ops/assemble_rows.h"
#include "ops/attention.h"
#include "ops/embedding.h"
#include "ops/join_columns.h"
#include "ops/replacing_probe.h"
#include "ops/scale.h"
#include "ops/view.h"
#include "regard/error.h"

namespace regard::models {
namespace {

std::unique_ptr<nn::Linear> linear(std::int64_t in, const std::string& name, std::int64_t out, bool bias) {
  return std::make_unique<nn::Linear>(in, std::vector{nn::LinearPart{name, out, bias, kXavier}});
}

Var squashed(Tape& tape, const nn::Linear& layer, Var x) {
  nn::Linear::Options options;
  options.activation = kernels::Activation::tanh;
  return layer.forward(tape, x, options);
}

// One step of the recurrence. Step t has one row for each sequence that has a token t, in the order of the
// batch.
struct Step {
  std::span<std::int32_t> token;  // [rows]: index of the token of each row
  // [rows]: the row of the same sequence in the previous step; in step 0, the sequence's index
  std::span<std::int32_t> survivor;
  std::span<ops::KeyRange> keys;  // [rows]: range of the source's keys for each row
  Ragged shape;                   // batch shape with one token per row
};

Step step_of(Tape& tape, const Ragged& shape, const Ragged& source, std::int32_t t,
             std::vector<std::int32_t>& sequences) {
  const auto length = [&](std::int32_t s) {
    return shape.offsets[static_cast<std::size_t>(s) + 1] - shape.offsets[static_cast<std::size_t>(s)];
  };
  Arena& arena = tape.arena();
  const auto rows = static_cast<std::size_t>(
      std::count_if(sequences.begin(), sequences.end(), [&](std::int32_t s) { return length(s) > t; }));
  Step step{
      arena.array<std::int32_t>(rows), arena.array<std::int32_t>(rows), arena.array<ops::KeyRange>(rows), {}};
  const auto offsets = arena.array<std::int32_t>(rows + 1);
  const auto positions = arena.array<std::int32_t>(rows);
  const auto indices = arena.array<std::uint64_t>(rows);
  std::size_t row = 0;
  for (std::size_t before = 0; before < sequences.size(); ++before) {
    const std::int32_t s = sequences[before];
    if (length(s) <= t) continue;
    const auto at = static_cast<std::size_t>(s);
    step.token[row] = shape.offsets[at] + t;
    step.survivor[row] = static_cast<std::int32_t>(before);
    step.keys[row] = {source.offsets[at], source.offsets[at + 1]};
    offsets[row] = static_cast<std::int32_t>(row), positions[row] = t, indices[row] = 0;
    sequences[row++] = s;
  }
  sequences.resize(row);
  offsets[row] = static_cast<std::int32_t>(row);
  step.shape = {offsets, positions, indices};
  return step;
}

// Report the attention weights of all steps to the probe, [1, queries, keys] for each sequence.
void show_weights(Tape& tape, const Ragged& shape, const Ragged& source, std::span<const Step> steps,
                  std::span<const std::span<const float>> weights) {
  constexpr const char* kPoint = "decoder.0.cross.weights";
  if (tape.probe == nullptr || !tape.probe->wants(kPoint) || !tape.probe->wants_head("decoder.0.cross", 0))
    return;
  std::vector<Tensor> all;
  for (std::size_t s = 0; s + 1 < shape.offsets.size(); ++s)
    all.push_back(Tensor::zeros(
        {1, shape.offsets[s + 1] - shape.offsets[s], source.offsets[s + 1] - source.offsets[s]}));
  for (std::size_t t = 0; t < steps.size(); ++t) {
    std::size_t at = 0;
    for (std::size_t row = 0; row < steps[t].token.size(); ++row) {
      const std::int32_t token = steps[t].token[row];
      const auto s = static_cast<std::size_t>(
          std::upper_bound(shape.offsets.begin(), shape.offsets.end(), token) - shape.offsets.begin() - 1);
      const auto count = static_cast<std::size_t>(steps[t].keys[row].end - steps[t].keys[row].begin);
      std::copy_n(weights[t].begin() + static_cast<std::ptrdiff_t>(at), count,
                  all[s].row(token - shape.offsets[s]));
      at += count;
    }
  }
  for (std::size_t s = 0; s < all.size(); ++s) tape.probe->see(kPoint, static_cast<std::int64_t>(s), all[s]);
}

// Return the attention context of one step after replacement by a ReplacingProbe. The probe receives rows for
// the whole batch; the rows of other steps are 0.
Var replaced(Tape& tape, Var context, const Step& step, std::int64_t tokens) {
  constexpr const char* kPoint = "decoder.0.cross.context";
  ReplacingProbe* const probe = replacing_probe(tape);
  if (probe == nullptr || !probe->may_replace(kPoint)) return context;
  std::vector<std::int32_t> others;
  for (std::int32_t token = 0; token < static_cast<std::int32_t>(tokens); ++token)
    if (std::find(step.token.begin(), step.token.end(), token) == step.token.end()) others.push_back(token);
  const std::span<std::int32_t> rest = tape.arena().array<std::int32_t>(others.size());
  std::copy(others.begin(), others.end(), rest.begin());
  Var zeros = tape.constant(tape.arena().zeros({std::ssize(rest), context->value.columns()}));
  const ops::PlacedRows parts[] = {{context, step.token}, {zeros, rest}};
  Var whole = ops::assemble_rows(tape, std::span(parts).first(rest.empty() ? 1 : 2), tokens);
  return ops::select_rows(tape, probe->replace(tape, kPoint, whole), step.token);
}

Var state_of(Tape& tape, const ops::Recurrence& after) {
  return after.cell == nullptr ? after.hidden : ops::join_columns(tape, {after.hidden, after.cell});
}

}  // namespace

SearchDecoder::SearchDecoder(const SequenceConfig& config) : config_(config) {
  const std::int64_t hidden = config.hidden;
  nn::RecurrentConfig layers;
  layers.cell = config.cell, layers.hidden = hidden, layers.dropout = config.dropout;
  layers.input = config.embedding + (has_keys() ? hidden : 0);
  layers.layers = has_keys() ? 1 : config.layers;
  first_ = std::make_unique<nn::Recurrent>("decoder.rnn.", has_keys() ? "" : "decoder", layers);
  if (has_keys() && config.layers > 1) {
    layers.input = hidden, layers.layers = config.layers - 1, layers.first_layer = 1;
    upper_ = std::make_unique<nn::Recurrent>("decoder.rnn_above.", "decoder", layers);
  }
  bridge_ = linear(hidden, "decoder.bridge", config.layers * state_size(), true);
  if (!attends()) return;
  query_ = linear(hidden, "decoder.attention.query", hidden, false);
  readout_ = linear(2 * hidden + (has_keys() ? config.embedding : 0), "decoder.readout", hidden, true);
  if (!has_keys()) return;
  key_ = linear(hidden, "decoder.attention.key", hidden, true);
  score_ = std::make_unique<Parameter>();
  score_->name = "decoder.attention.score.weight";
  score_->variable.value = declared({1, hidden});
  score_->initial = kXavier;
}

std::vector<Var> SearchDecoder::first_states(Tape& tape, Var encoded, const Ragged& shape) const {
  const auto sequences = static_cast<std::size_t>(shape.sequences());
  const std::span<std::int32_t> first = tape.arena().array<std::int32_t>(sequences);
  const std::span<std::int32_t> last = tape.arena().array<std::int32_t>(sequences);
  for (std::size_t s = 0; s < sequences; ++s) {
    first[s] = shape.offsets[s], last[s] = shape.offsets[s + 1] - 1;
    if (last[s] < first[s])
      throw input_error("source " + std::to_string(s) + " has no tokens, so it cannot be translated")
          .found("0 tokens")
          .expected("at least 1 token");
  }
  Var summary = nullptr;
  if (config_.bidirectional) {
    const std::int64_t half = config_.hidden / 2;
    summary =
        ops::join_columns(tape, {ops::select_rows(tape, ops::columns(tape, encoded, 0, half), last),
                                 ops::select_rows(tape, ops::columns(tape, encoded, half, half), first)});
  } else {
    summary = ops::select_rows(tape, encoded, last);
  }
  Var all = squashed(tape, *bridge_, summary);
  std::vector<Var> states;
  for (std::int64_t layer = 0; layer < config_.layers; ++layer)
    states.push_back(ops::columns(tape, all, layer * state_size(), state_size()));
  return states;
}

SearchSource SearchDecoder::source(Tape& tape, Var encoded, const Ragged& shape) const {
  SearchSource source;
  source.shape = shape;
  if (attends()) source.values = encoded;
  if (has_keys()) source.keys = key_->forward(tape, encoded);
  return source;
}

SearchDecoder::Attended SearchDecoder::attend_by_step(Tape& tape, Var x, const Ragged& shape,
                                                      const SearchSource& source, Var initial,
                                                      ops::Recurrence& after) const {
  std::vector<std::int32_t> sequences;
  std::int32_t longest = 0;
  for (std::int32_t s = 0; s < static_cast<std::int32_t>(shape.sequences()); ++s) {
    sequences.push_back(s);
    longest = std::max(
        longest, shape.offsets[static_cast<std::size_t>(s) + 1] - shape.offsets[static_cast<std::size_t>(s)]);
  }
  const float factor = tape.probe == nullptr ? 1.0f : tape.probe->head_scale("decoder.0.cross", 0);
  std::vector<Step> steps;
  std::vector<std::span<const float>> weights;
  std::vector<ops::PlacedRows> hidden, cells, contexts;
  Var state = initial;
  for (std::int32_t t = 0; t < longest; ++t) {
    const Step& step = steps.emplace_back(step_of(tape, shape, source.shape, t, sequences));
    if (std::ssize(step.survivor) != state->value.rows())
      state = ops::select_rows(tape, state, step.survivor);
    Var before =
        state->value.columns() == config_.hidden ? state : ops::columns(tape, state, 0, config_.hidden);
    const ops::AdditiveAttention attended = ops::additive_attention(
        tape, query_->forward(tape, before), source.keys, source.values, &score_->variable, step.keys);
    Var context = factor == 1.0f ? attended.context : ops::scale(tape, attended.context, factor);
    context = replaced(tape, context, step, x->value.rows());
    Var input = ops::join_columns(tape, {ops::select_rows(tape, x, step.token), context});
    ops::Recurrence next;
    first_->forward(tape, input, step.shape, {{&state, 1}, {&next, 1}});
    state = state_of(tape, next);
    hidden.push_back({next.hidden, step.token});
    contexts.push_back({context, step.token});
    if (next.cell != nullptr) cells.push_back({next.cell, step.token});
    weights.push_back(attended.weights);
  }
  show_weights(tape, shape, source.shape, steps, weights);
  after.hidden = ops::assemble_rows(tape, hidden, x->value.rows());
  if (!cells.empty()) after.cell = ops::assemble_rows(tape, cells, x->value.rows());
  Var context = ops::assemble_rows(tape, contexts, x->value.rows());
  if (tape.probe != nullptr && tape.probe->wants("decoder.0.cross.context"))
    tape.probe->see("decoder.0.cross.context", -1, context->value);
  return {after.hidden, context};
}

Var SearchDecoder::attend_at_once(Tape& tape, Var states, const Ragged& shape,
                                  const SearchSource& source) const {
  constexpr const char* kPoint = "decoder.0.cross";  // probe point of the decoder's only attention
  ops::AttentionOptions options;
  options.head_dim = config_.hidden;
  options.scale = 1.0f;
  options.point = kPoint;
  Var context = ops::attention(tape, {query_->forward(tape, states), 0}, {source.values, 0},
                               {source.values, 0}, shape, source.shape, options);
  const float factor = tape.probe == nullptr ? 1.0f : tape.probe->head_scale(kPoint, 0);
  return nn::show(tape, kPoint, "context", factor == 1.0f ? context : ops::scale(tape, context, factor));
}

Var SearchDecoder::forward(Tape& tape, Var x, const Ragged& shape, const SearchSource& source,
                           const nn::RecurrentStates& states) const {
  if (!has_keys()) {
    Var hidden = first_->forward(tape, x, shape, states);
    if (!attends()) return hidden;
    return squashed(tape, *readout_,
                    ops::join_columns(tape, {attend_at_once(tape, hidden, shape, source), hidden}));
  }
  ops::Recurrence after;
  const Attended attended = attend_by_step(tape, x, shape, source, states.initial[0], after);
  Var top = nn::show(tape, "decoder.0", "residual", attended.states);
  if (!states.after.empty()) states.after[0] = after;
  if (upper_) {
    top = nn::dropped_copy(tape, top, shape, {config_.dropout, place_of("decoder.1.dropout")});
    top = upper_->forward(
        tape, top, shape,
        {states.initial.subspan(1), states.after.empty() ? states.after : states.after.subspan(1)});
  }
  return squashed(tape, *readout_, ops::join_columns(tape, {top, attended.context, x}));
}

std::vector<nn::Linear*> SearchDecoder::linears() const {
  std::vector<nn::Linear*> all;
  for (const auto* one : {&bridge_, &query_, &key_, &readout_})
    if (*one) all.push_back(one->get());
  return all;
}

void SearchDecoder::collect(std::vector<Parameter*>& parameters) const {
  first_->collect(parameters);
  if (upper_) upper_->collect(parameters);
  for (nn::Linear* one : linears()) one->collect(parameters);
  if (score_) parameters.push_back(score_.get());
}

void SearchDecoder::prepare_for_inference(const nn::Preparation& how) const {
  first_->prepare_for_inference(how);
  if (upper_) upper_->prepare_for_inference(how);
  for (nn::Linear* one : linears()) one->prepare_for_inference(how);
}

}  // namespace regard::models
