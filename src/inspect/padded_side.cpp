#include "inspect/padded_side.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "regard/error.h"
#include "tensor/transposed.h"

namespace regard::inspect {
namespace {

std::vector<std::int32_t> integers(const Tensor& tensor, const std::string& name) {
  if (tensor.dtype() != DType::i64 && tensor.dtype() != DType::i32)
    throw input_error("\"" + name + "\" has a wrong dtype")
        .found(name_of(tensor.dtype()))
        .expected("i64 or i32");
  std::vector<std::int32_t> all(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t value = tensor.dtype() == DType::i64 ? tensor.i64()[i] : tensor.i32()[i];
    if (!std::in_range<std::int32_t>(value))
      throw input_error("\"" + name + "\" has an integer outside the range of 32 bits")
          .found(std::to_string(value))
          .expected("-2147483648 to 2147483647");
    all[i] = static_cast<std::int32_t>(value);
  }
  return all;
}

// Return the input [batch, length], or an empty vector if it is missing. Throws invalid_input if it has
// another shape than `shape`, which may be null.
std::vector<std::int32_t> matrix(const TensorMap& inputs, const std::string& name, const Shape* shape) {
  const auto found = inputs.find(name);
  if (found == inputs.end()) return {};
  const Tensor& tensor = found->second;
  if (tensor.shape().rank() != 2 || (shape != nullptr && !(tensor.shape() == *shape)))
    throw input_error("\"" + name + "\" has a wrong shape")
        .found(tensor.shape().text())
        .expected(shape != nullptr ? shape->text() : "[batch, length]");
  return integers(tensor, name);
}

const Tensor& required(const TensorMap& inputs, const std::string& name) {
  const auto found = inputs.find(name);
  if (found == inputs.end()) throw input_error("the input \"" + name + "\" is missing");
  return found->second;
}

std::vector<std::uint8_t> mask_of(const TensorMap& inputs, const std::string& name, const Shape& shape) {
  const std::vector<std::int32_t> given = matrix(inputs, name, &shape);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(shape.elements()), std::uint8_t{1});
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] != 0 && given[i] != 1)
      throw input_error("\"" + name + "\" has an invalid value")
          .found(std::to_string(given[i]))
          .expected("0 or 1");
    mask[i] = static_cast<std::uint8_t>(given[i]);
  }
  return mask;
}

// Return the default positions, which are used if position_ids is missing.
std::vector<std::int32_t> usual_positions(const std::vector<std::int32_t>& ids, std::int64_t length,
                                          const PositionRule& rule) {
  std::vector<std::int32_t> positions(ids.size());
  std::int32_t count = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto column = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % length);
    if (column == 0) count = 0;
    if (!rule.over_tokens)
      positions[i] = column;
    else
      positions[i] = ids[i] == rule.padding ? -1 : count++;
  }
  return positions;
}

// For each sequence, return the number of samples whose "attention_mask" is 1. `shape` is [batch, samples].
std::vector<std::int64_t> kept_samples(const TensorMap& inputs, const InputSpec& spec, const Shape& shape) {
  const std::vector<std::uint8_t> mask = mask_of(inputs, "attention_mask", shape);
  std::vector<std::int64_t> kept;
  for (auto row = mask.begin(); row != mask.end(); row += shape[1]) {
    const auto end = std::find(row, row + shape[1], 0);
    if (std::find(end, row + shape[1], 1) != row + shape[1])
      throw input_error("\"attention_mask\" has a wrong order")
          .found("a 1 after a 0")
          .expected("ones, then zeros");
    kept.push_back(end - row);
    // In transformers, the group norm includes the padding, so the results depend on the amount of padding.
    if (spec.normalizes_over_frames && kept.back() < shape[1])
      throw input_error(
          "this model does not accept \"attention_mask\": its group norm would include the padding")
          .remedy("Omit the mask, or run each sequence in a batch of its own");
  }
  return kept;
}

}  // namespace

PaddedSide::PaddedSide(const TensorMap& inputs, const InputSpec& spec) : padding_(0, 0, {}) {
  const Tensor& all = required(inputs, spec.name);
  const Shape& shape = all.shape();
  const bool samples = spec.kind == InputKind::features && spec.shape[1] == 1 && shape.rank() == 2;
  if (spec.kind == InputKind::features && !samples && shape.rank() != 3)
    throw input_error(std::string("\"") + spec.name + "\" has a wrong shape")
        .found(shape.text())
        .expected(spec.shape[1] == 1 ? "[batch, samples]"
                  : spec.bins_first  ? "[batch, features, frames]"
                                     : "[batch, frames, features]");
  if (all.dtype() != DType::f32)
    throw input_error(std::string("\"") + spec.name + "\" has a wrong dtype")
        .found(name_of(all.dtype()))
        .expected("f32");
  batch_ = shape[0];
  const std::vector<std::int64_t> kept =
      samples && shape[1] > 0 ? kept_samples(inputs, spec, shape) : std::vector<std::int64_t>{};
  std::vector<std::int64_t> lengths;
  for (std::int64_t b = 0; b < batch_; ++b) {
    const Tensor values = all.slice_rows(b, b + 1);  // [1, …]
    if (spec.kind == InputKind::pixels)
      values_.push_back(values);
    else if (samples)
      values_.push_back(values.reshape({shape[1], 1}));
    else
      values_.push_back(spec.bins_first ? transposed(values.reshape({shape[1], shape[2]}))
                                        : values.reshape({shape[1], shape[2]}));
    length_ = spec.length_of(values_.back());
    if (!kept.empty()) values_.back() = values_.back().slice_rows(0, kept[static_cast<std::size_t>(b)]);
    lengths.push_back(spec.length_of(values_.back()));
  }
  set_lengths(lengths);
}

void PaddedSide::set_lengths(const std::vector<std::int64_t>& lengths) {
  mask_.assign(static_cast<std::size_t>(batch_ * length_), std::uint8_t{0});
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    shape_.add(lengths[b], b);
    std::fill_n(mask_.begin() + static_cast<std::int64_t>(b) * length_, lengths[b], std::uint8_t{1});
  }
  padding_ = Padding(batch_, length_, mask_);
}

PaddedSide PaddedSide::outputs(const InputSpec& spec) const {
  PaddedSide side;
  side.batch_ = batch_, side.length_ = spec.output_length(length_);
  std::vector<std::int64_t> lengths;
  const std::span<const std::int32_t> offsets = shape_.view().offsets;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    lengths.push_back(spec.output_length(offsets[s + 1] - offsets[s]));
  side.set_lengths(lengths);
  return side;
}

PaddedSide::PaddedSide(const TensorMap& inputs, const SideNames& names, const PositionRule& rule,
                       bool compute_padding)
    : padding_(0, 0, {}) {
  const Shape shape = required(inputs, names.ids).shape();
  const std::vector<std::int32_t> ids = matrix(inputs, names.ids, nullptr);
  batch_ = shape[0], length_ = shape[1];
  mask_ = mask_of(inputs, names.mask, shape);
  std::vector<std::int32_t> types = matrix(inputs, names.types, &shape);
  std::vector<std::int32_t> positions = matrix(inputs, names.positions, &shape);
  for (std::int32_t& position : positions) position -= static_cast<std::int32_t>(rule.first);
  if (positions.empty()) positions = usual_positions(ids, length_, rule);
  if (compute_padding) attended_ = mask_;
  padding_ = compute_padding ? Padding::none(batch_, length_) : Padding(batch_, length_, mask_);
  std::vector<std::int32_t> sequence;
  const Ragged ragged = padding_.shape();
  for (std::size_t t = 0; t < padding_.rows().size(); ++t) {
    const auto row = static_cast<std::size_t>(padding_.rows()[t]);
    ids_.push_back(ids[row]);
    if (!types.empty()) types_.push_back(types[row]);
  }
  for (std::size_t s = 0; s + 1 < ragged.offsets.size(); ++s) {
    sequence.clear();
    for (std::int32_t t = ragged.offsets[s]; t < ragged.offsets[s + 1]; ++t)
      sequence.push_back(positions[static_cast<std::size_t>(padding_.rows()[static_cast<std::size_t>(t)])]);
    shape_.add(sequence, static_cast<std::uint64_t>(s));
  }
}

InputBatch PaddedSide::batch() const {
  return {.ids = ids_, .shape = shape_.view(), .types = types_, .attended = attended(), .values = values_};
}

std::vector<ModelInput> PaddedSide::inputs() const {
  std::vector<ModelInput> all(values_.begin(), values_.end());
  const std::span<const std::int32_t> offsets = shape_.view().offsets;
  for (std::size_t s = 0; values_.empty() && s + 1 < offsets.size(); ++s)
    all.push_back(std::vector(ids_.begin() + offsets[s], ids_.begin() + offsets[s + 1]));
  return all;
}

std::vector<std::int32_t> PaddedSide::labels(const Tensor& padded, bool shift) const {
  if (!(padded.shape() == Shape{batch_, length_}))
    throw input_error("\"labels\" has a wrong shape")
        .found(padded.shape().text())
        .expected(Shape{batch_, length_}.text());
  const std::vector<std::int32_t> all = integers(padded, "labels");
  std::vector<std::int32_t> labels;
  for (const std::int32_t row : padding_.rows()) {
    const bool last = (row + 1) % length_ == 0;
    if (shift)
      labels.push_back(last ? kIgnoredLabel : all[static_cast<std::size_t>(row) + 1]);
    else
      labels.push_back(all[static_cast<std::size_t>(row)]);
  }
  return labels;
}

bool PaddedSide::shown(std::size_t place, bool keep_padding) const {
  return keep_padding || mask_[place] != 0;
}

Tensor PaddedSide::restore(const Tensor& ragged, bool keep_padding) const {
  Tensor padded = padding_.restore(ragged);
  for (std::size_t place = 0; place < mask_.size(); ++place)
    if (!shown(place, keep_padding))
      std::fill_n(padded.row(static_cast<std::int64_t>(place)), padded.columns(), 0.0f);
  return padded;
}

void PaddedSide::place(const Tensor& weights, std::int64_t sequence, const PaddedSide& keys,
                       bool keep_padding, Tensor& into) const {
  const std::int64_t heads = weights.shape()[0], queries = weights.shape()[1], count = weights.shape()[2];
  const auto first = [&](const PaddedSide& side) {
    return side.padding_.shape().offsets[static_cast<std::size_t>(sequence)];
  };
  const auto place_of_token = [&](const PaddedSide& side, std::int64_t token) {
    return static_cast<std::size_t>(side.padding_.rows()[static_cast<std::size_t>(first(side) + token)]);
  };
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t q = 0; q < queries; ++q) {
      const std::size_t row = place_of_token(*this, q);
      if (!shown(row, keep_padding)) continue;
      float* to = into.row((sequence * heads + h) * length_ + static_cast<std::int64_t>(row) % length_);
      for (std::int64_t k = 0; k < count; ++k)
        to[static_cast<std::int64_t>(place_of_token(keys, k)) % keys.length_] =
            weights.row(h * queries + q)[k];
    }
}

PassSides PassSides::of(Network& model, const TensorMap& inputs, bool compute_padding) {
  PassSides sides;
  const InputSpec& spec = model.input_spec();
  const PositionRule rule = model.position_rule();
  if (model.kind() != ModelKind::decoder)
    sides.source = spec.kind == InputKind::tokens ? PaddedSide(inputs, {}, rule, compute_padding)
                                                  : PaddedSide(inputs, spec);
  if (!spec.output_windows.empty()) sides.output.emplace(sides.source->outputs(spec));
  if (model.kind() == ModelKind::encoder) return sides;
  const SideNames names =
      model.kind() == ModelKind::decoder
          ? SideNames()
          : SideNames{"decoder_input_ids", "decoder_attention_mask", "", "decoder_position_ids"};
  sides.target.emplace(inputs, names, rule, compute_padding);
  return sides;
}

}  // namespace regard::inspect
