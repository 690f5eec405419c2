#include "inspect/tensor_loss.h"

#include <algorithm>
#include <functional>

#include "base/json.h"
#include "ops/add.h"
#include "ops/binary_cross_entropy.h"
#include "ops/cross_entropy.h"
#include "ops/ctc_loss.h"
#include "ops/embedding.h"
#include "ops/multiply.h"
#include "ops/sum.h"
#include "ops/view.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

// Copy labels to the tape's arena, because the backward pass reads them.
std::span<const std::int32_t> kept(Tape& tape, const std::vector<std::int32_t>& labels) {
  const std::span<std::int32_t> copy = tape.arena().array<std::int32_t>(labels.size());
  std::copy(labels.begin(), labels.end(), copy.begin());
  return copy;
}

Var mean_cross_entropy(Tape& tape, Var logits, const std::vector<std::int32_t>& labels) {
  const auto counted =
      std::count_if(labels.begin(), labels.end(), [](std::int32_t label) { return label != kIgnoredLabel; });
  if (counted == 0)
    throw input_error("no label contributes to the loss")
        .expected("at least one label other than " + std::to_string(kIgnoredLabel));
  ops::CrossEntropyOptions options;
  options.ignored = kIgnoredLabel;
  options.factor = 1.0f / static_cast<float>(counted);
  return ops::cross_entropy(tape, logits, kept(tape, labels), options);
}

const Tensor& input(const TensorMap& inputs, const std::string& name) {
  const auto found = inputs.find(name);
  if (found == inputs.end()) throw input_error("the input \"" + name + "\" is missing");
  return found->second;
}

std::span<const std::int64_t> per_sequence(const Tensor& labels, const std::string& name,
                                           std::int64_t batch) {
  if (!(labels.shape() == Shape{batch}) || labels.dtype() != DType::i64)
    throw input_error("\"" + name + "\" has a wrong shape or type")
        .found(std::string(name_of(labels.dtype())) + " " + labels.shape().text())
        .expected("i64 " + Shape{batch}.text());
  return {labels.i64(), static_cast<std::size_t>(batch)};
}

// Convert classes to 32 bits. They are checked first, because truncation could make an invalid class valid.
std::vector<std::int32_t> classes(std::span<const std::int64_t> labels, std::int64_t count) {
  std::vector<std::int32_t> all;
  for (const std::int64_t label : labels) {
    if (label != kIgnoredLabel && (label < 0 || label >= count))
      throw input_error("\"labels\" has a class out of range")
          .found(std::to_string(label))
          .expected("classes from 0 to " + std::to_string(count - 1) + ", or " +
                    std::to_string(kIgnoredLabel) + " for an ignored sequence");
    all.push_back(static_cast<std::int32_t>(label));
  }
  return all;
}

// As in transformers, a position beyond the last one is ignored, and a negative one is clamped to 0.
Var span_loss(Tape& tape, Var logits, const Tensor& positions, const std::string& name,
              const PaddedSide& side) {
  std::vector<std::int32_t> labels;
  for (const std::int64_t place : per_sequence(positions, name, side.sequences()))
    labels.push_back(place >= side.length() ? kIgnoredLabel
                                            : static_cast<std::int32_t>(std::max(place, std::int64_t{0})));
  Var rows = ops::reshape(tape, logits, {side.sequences(), side.length()});
  return ops::sum(tape, mean_cross_entropy(tape, rows, labels), 0.5f);
}

void require_shape(const Tensor& labels, const Shape& shape) {
  if (!(labels.shape() == shape))
    throw input_error("\"labels\" has a wrong shape").found(labels.shape().text()).expected(shape.text());
}

// Return the problem type of a classifier, as in transformers: the config's problem_type. Default:
// "regression" for a model with one label; otherwise, "multi_label_classification" if `labels` is f32, and
// "single_label_classification" for integers.
std::string problem_type(const Network& model, DType labels) {
  const Json config = model.config();
  if (const auto type = config.find("problem_type"); type != config.end() && type->is_string())
    return type->get<std::string>();
  if (model.labels() == 1) return "regression";
  return labels == DType::f32 ? "multi_label_classification" : "single_label_classification";
}

void require_kind(const Tensor& labels, bool numbers, const std::string& problem) {
  if ((labels.dtype() == DType::f32) != numbers)
    throw input_error("\"labels\" has a wrong dtype")
        .found(name_of(labels.dtype()))
        .expected(std::string(numbers ? "f32" : "i64") + " for the problem type " + problem);
}

// Return the mean of (logit − label)².
Var squared_loss(Tape& tape, Var logits, const Tensor& labels) {
  const Shape& shape = logits->value.shape();
  require_shape(labels, shape[1] == 1 && labels.shape().rank() == 1 ? Shape{shape[0]} : shape);
  const Tensor negative = tape.arena().tensor(shape);
  std::transform(labels.f32(), labels.f32() + labels.elements(), negative.f32(), std::negate<>());
  Var difference = ops::add(tape, logits, tape.constant(negative));
  return ops::sum(tape, ops::multiply(tape, difference, difference),
                  1.0f / static_cast<float>(labels.elements()));
}

// Return the mean binary cross-entropy over the tokens that are not padding. Labels are 0 or 1.
Var flags_loss(Tape& tape, Var logits, const TensorMap& inputs, const PaddedSide& side) {
  const std::vector<std::int32_t> labels = side.labels(input(inputs, "labels"), false);
  const std::uint8_t* attended = side.batch().attended;
  std::vector<std::int32_t> rows;
  for (std::size_t t = 0; t < labels.size(); ++t)
    if (attended == nullptr || attended[t] != 0) rows.push_back(static_cast<std::int32_t>(t));
  if (rows.empty())
    throw input_error("no label contributes to the loss")
        .expected("at least one label other than " + std::to_string(kIgnoredLabel));
  const Tensor targets = tape.arena().tensor({std::ssize(rows), 1});
  for (std::size_t i = 0; i < rows.size(); ++i)
    targets.f32()[i] = static_cast<float>(labels[static_cast<std::size_t>(rows[i])]);
  return ops::binary_cross_entropy(tape, ops::select_rows(tape, logits, kept(tape, rows)), targets,
                                   1.0f / static_cast<float>(rows.size()));
}

// Return the mean binary cross-entropy over all classes (transformers' multi_label_classification).
Var several_classes_loss(Tape& tape, Var logits, const Tensor& labels) {
  require_shape(labels, logits->value.shape());
  return ops::binary_cross_entropy(tape, logits, labels, 1.0f / static_cast<float>(labels.elements()));
}

// Return the CTC loss as the folder's config specifies it. Labels [batch, length] below 0 are padding, as in
// transformers.
Var ctc_loss(Tape& tape, const Network& model, Var logits, const Tensor& labels, const PaddedSide& side) {
  if (labels.shape().rank() != 2 || labels.shape()[0] != side.sequences() || labels.dtype() != DType::i64)
    throw input_error("\"labels\" has a wrong shape or type")
        .found(std::string(name_of(labels.dtype())) + " " + labels.shape().text())
        .expected("i64 [" + std::to_string(side.sequences()) + ", labels]");
  std::vector<std::int32_t> targets, offsets{0};
  for (std::int64_t s = 0; s < side.sequences(); ++s) {
    std::vector<std::int64_t> row(labels.i64() + s * labels.shape()[1],
                                  labels.i64() + (s + 1) * labels.shape()[1]);
    std::erase_if(row, [](std::int64_t label) { return label < 0; });
    for (const std::int32_t label : classes(row, model.labels())) targets.push_back(label);
    offsets.push_back(static_cast<std::int32_t>(targets.size()));
  }
  const Json config = model.config();
  ops::CtcOptions options;
  options.blank = static_cast<std::int32_t>(config.value("pad_token_id", 0));
  options.mean = config.value("ctc_loss_reduction", "sum") == "mean";
  options.zero_infinity = config.value("ctc_zero_infinity", false);
  return ops::ctc_loss(tape, logits, side.batch().shape.offsets, targets, offsets, options);
}

Var weighted_loss(Tape& tape, const TensorMap& inputs, const std::map<std::string, Var>& values,
                  const PaddedSide& side) {
  const std::string prefix = "loss_weight.";
  Var total = nullptr;
  for (auto it = inputs.lower_bound(prefix); it != inputs.end() && it->first.starts_with(prefix); ++it) {
    const std::string name = it->first.substr(prefix.size());
    const auto value = values.find(name);
    if (value == values.end()) {
      std::string known;
      for (const auto& [output, tensor] : values) known += (known.empty() ? "" : ", ") + output;
      throw input_error("the model has no output of this name for loss_weight")
          .found(name)
          .expected("one of " + known);
    }
    const Shape& shape = value->second->value.shape();
    Tensor weight = it->second;
    if (weight.dtype() != DType::f32)
      throw input_error("\"" + it->first + "\" has a wrong dtype")
          .found(std::string(name_of(weight.dtype())))
          .expected("f32");
    if (weight.shape().rank() == 3) weight = side.remove(weight);
    if (weight.elements() != shape.elements())
      throw input_error("\"" + it->first + "\" has a wrong shape")
          .found(it->second.shape().text())
          .expected("the shape of the output \"" + name + "\"");
    // Copy the loss weights to the tape's arena, because the backward pass reads them.
    const Tensor copy = tape.arena().tensor(shape);
    std::copy_n(weight.f32(), weight.elements(), copy.f32());
    Var term = ops::sum(tape, ops::multiply(tape, value->second, tape.constant(copy)));
    total = total == nullptr ? term : ops::add(tape, total, term);
  }
  return total;
}

Var sequence_loss(Tape& tape, const Network& model, Var logits, const Tensor& labels, std::int64_t batch) {
  const std::string problem = problem_type(model, labels.dtype());
  const bool regression = problem == "regression";
  const bool numbers = regression || problem == "multi_label_classification";
  require_kind(labels, numbers, problem);
  if (numbers)
    return regression ? squared_loss(tape, logits, labels) : several_classes_loss(tape, logits, labels);
  return mean_cross_entropy(tape, logits, classes(per_sequence(labels, "labels", batch), model.labels()));
}

}  // namespace

Var loss_of(Tape& tape, Network& model, const TensorMap& inputs, const std::map<std::string, Var>& values,
            const PaddedSide& side) {
  if (Var weighted = weighted_loss(tape, inputs, values, side)) return weighted;
  switch (model.output()) {
    case Output::span:
      return ops::add(
          tape,
          span_loss(tape, values.at("start_logits"), input(inputs, "start_positions"), "start_positions",
                    side),
          span_loss(tape, values.at("end_logits"), input(inputs, "end_positions"), "end_positions", side));
    case Output::sequence_classes:
      return sequence_loss(tape, model, values.at("logits"), input(inputs, "labels"), side.sequences());
    case Output::token_flags:
      return flags_loss(tape, values.at("logits"), inputs, side);
    case Output::ctc:
      return ctc_loss(tape, model, values.at("logits"), input(inputs, "labels"), side);
    case Output::next_token:
    case Output::vocabulary:
    case Output::token_classes: {
      const bool shift = model.kind() == ModelKind::decoder;
      return mean_cross_entropy(tape, values.at("logits"), side.labels(input(inputs, "labels"), shift));
    }
    default:
      throw usage_error("this model has no built-in loss").remedy("Use loss_weight.OUTPUT instead");
  }
}

}  // namespace regard::inspect
