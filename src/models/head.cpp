#include "base/counted.h"
#include "models/stack.h"
#include "ops/add.h"
#include "ops/check.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/multiply.h"
#include "ops/parameter.h"
#include "ops/pool_tokens.h"
#include "ops/scale.h"

namespace regard::models {

Head::Head(const HeadConfig& config, std::int64_t hidden, const TokenTables& tables) : config_(config) {
  std::int64_t features = hidden;
  if (!config.norm.empty()) norm_ = std::make_unique<nn::Norm>(config.norm, hidden, config.norm_config);
  if (!config.second.empty())
    second_ = std::make_unique<nn::Linear>(
        hidden, std::vector{nn::LinearPart{config.second, config.out, true, config.initial}});
  for (const DenseConfig& dense : config.dense) {
    const nn::LinearPart part{dense.name, dense.out, dense.bias, config.initial};
    dense_.push_back({dense.activation, std::make_unique<nn::Linear>(features, std::vector{part}),
                      dense.norm.empty()
                          ? nullptr
                          : std::make_unique<nn::Norm>(dense.norm, dense.out, dense.norm_config)});
    features = dense.out;
  }
  if (config.projection.empty()) return;
  projection_ = tables.find(config.projection);
  if (projection_ == nullptr) {
    own_ = std::make_unique<nn::Embedding>(config.projection, config.out, features, config.initial);
    projection_ = own_.get();
  }
  if (config.bias.empty()) return;
  bias_ = std::make_unique<Parameter>();
  bias_->name = config.bias;
  bias_->variable.value = declared({config.out});
  if (config.bias_is_row) bias_->stored_shape = {1, config.out};
}

// Select the rows that the head reads. Throws invalid_input if a sequence lacks one of these rows (the first,
// the second or the last).
Var Head::select(Tape& tape, Var hidden, const InputBatch& batch) const {
  const Ragged& shape = batch.shape;
  if (config_.rows == HeadConfig::Rows::all) return hidden;
  if (config_.rows == HeadConfig::Rows::first_two) return mean_of_first_two(tape, hidden, shape);
  if (config_.rows == HeadConfig::Rows::mean) return ops::mean_over_time(tape, hidden, shape);
  if (config_.rows == HeadConfig::Rows::last && config_.padding >= 0)
    ops::require_ragged("head", shape, std::ssize(batch.ids));
  const std::span<std::int32_t> rows =
      tape.arena().array<std::int32_t>(static_cast<std::size_t>(shape.sequences()));
  for (std::size_t s = 0; s < rows.size(); ++s) {
    if (shape.offsets[s] == shape.offsets[s + 1])
      throw input_error("sequence " + std::to_string(s) + " has no tokens, so it cannot be classified")
          .found("0 tokens")
          .expected("at least 1 token");
    rows[s] = config_.rows == HeadConfig::Rows::first
                  ? shape.offsets[s]
                  : last_row(batch, shape.offsets[s], shape.offsets[s + 1]);
  }
  return ops::select_rows(tape, hidden, rows);
}

// Return the row of the last token of [begin, end) that is not padding, or `begin` if all tokens are padding.
std::int32_t Head::last_row(const InputBatch& batch, std::int32_t begin, std::int32_t end) const {
  std::int32_t row = end - 1;
  if (config_.padding < 0) return row;
  while (row > begin && batch.ids[static_cast<std::size_t>(row)] == config_.padding) --row;
  return row;
}

Var Head::mean_of_first_two(Tape& tape, Var hidden, const Ragged& shape) const {
  const auto count = static_cast<std::size_t>(shape.sequences());
  const std::span<std::int32_t> first = tape.arena().array<std::int32_t>(count),
                                second = tape.arena().array<std::int32_t>(count);
  for (std::size_t s = 0; s < count; ++s) {
    if (shape.offsets[s + 1] - shape.offsets[s] < 2)
      throw input_error("the sequence is too short to classify")
          .found(counted(shape.offsets[s + 1] - shape.offsets[s], "position"))
          .expected("at least 2");
    first[s] = shape.offsets[s], second[s] = first[s] + 1;
  }
  Var sum = ops::add(tape, ops::select_rows(tape, hidden, first), ops::select_rows(tape, hidden, second));
  return ops::scale(tape, sum, 0.5f);
}

Var Head::features(Tape& tape, Var hidden) const {
  Var x = norm_ ? norm_->forward(tape, hidden) : hidden;
  for (const Dense& dense : dense_) {
    nn::Linear::Options options;
    options.activation = dense.activation;
    x = dense.linear->forward(tape, x, options);
    if (dense.norm) x = dense.norm->forward(tape, x);
  }
  return config_.factor == 1.0f ? x : ops::scale(tape, x, config_.factor);
}

// Return x multiplied by a dropout mask. Unlike ops::dropout(), do not overwrite x, because the backward pass
// of a tanh reads x.
Var Head::dropped(Tape& tape, Var x, const Ragged& shape, const ops::DropoutOptions& options) const {
  if (options.rate == 0.0f || !tape.options().training) return x;
  const Tensor ones = tape.arena().tensor(x->value.shape());
  std::fill_n(ones.f32(), ones.elements(), 1.0f);
  Ragged rows = shape;
  if (config_.rows != HeadConfig::Rows::all) {  // the head reads one row per sequence
    const auto count = static_cast<std::size_t>(shape.sequences());
    const auto offsets = tape.arena().array<std::int32_t>(count + 1);
    const auto positions = tape.arena().array<std::int32_t>(count);
    const auto indices = tape.arena().array<std::uint64_t>(count);
    for (std::size_t s = 0; s < count; ++s) {
      offsets[s + 1] = static_cast<std::int32_t>(s) + 1;
      positions[s] = 0;
      indices[s] = shape.sequence_index[static_cast<std::size_t>(shape.offsets[s])];
    }
    offsets[0] = 0;
    rows = {offsets, positions, indices};
  }
  return ops::multiply(tape, x, ops::dropout(tape, tape.constant(ones), rows, options));
}

Var Head::forward(Tape& tape, Var hidden, const InputBatch& batch) const {
  const Ragged& shape = batch.shape;
  Var x = select(tape, hidden, batch);
  x = dropped(tape, x, shape, {config_.input_dropout, place_of("head.input_dropout")});
  x = features(tape, x);
  if (projection_ == nullptr) return x;
  x = dropped(tape, x, shape, {config_.dropout, place_of("head.dropout")});
  x = projection_->logits(tape, x, bias());
  return second_ ? ops::scale(tape, ops::add(tape, x, second_projection(tape, hidden, shape)), 0.5f) : x;
}

// Apply the second projection to the second row of each sequence.
Var Head::second_projection(Tape& tape, Var hidden, const Ragged& shape) const {
  const std::span<std::int32_t> rows =
      tape.arena().array<std::int32_t>(static_cast<std::size_t>(shape.sequences()));
  for (std::size_t s = 0; s < rows.size(); ++s) {
    rows[s] = shape.offsets[s] + 1;
    if (rows[s] >= shape.offsets[s + 1])
      throw input_error("sequence " + std::to_string(s) + " is too short for the head")
          .found(counted(shape.offsets[s + 1] - shape.offsets[s], "token"))
          .expected("at least 2 tokens");
  }
  return second_->forward(tape, ops::select_rows(tape, hidden, rows));
}

Var Head::loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels,
               const ops::CrossEntropyOptions& options) const {
  return projection_->loss(tape, features(tape, hidden), labels, options, bias());
}

void Head::collect(std::vector<Parameter*>& parameters) const {
  if (norm_) norm_->collect(parameters);
  for (const Dense& dense : dense_) {
    dense.linear->collect(parameters);
    if (dense.norm) dense.norm->collect(parameters);
  }
  if (own_) own_->collect(parameters);
  if (bias_) parameters.push_back(bias_.get());
  if (second_) second_->collect(parameters);
}

void Head::prepare_for_inference(const nn::Preparation& how) const {
  for (const Dense& dense : dense_) dense.linear->prepare_for_inference(how);
  if (projection_ != nullptr) projection_->prepare_for_inference(how);
  if (second_) second_->prepare_for_inference(how);
}

}  // namespace regard::models
