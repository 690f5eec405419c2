#include "models/dual_encoder.h"

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/json.h"
#include "nn/cache.h"
#include "ops/add.h"
#include "ops/binary_cross_entropy.h"
#include "ops/check.h"
#include "ops/cross_entropy.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/replacing_probe.h"
#include "ops/scale_exp.h"
#include "regard/error.h"

namespace regard::models {
namespace {

std::unique_ptr<Parameter> single_number(const std::string& name, Shape shape, double initial) {
  auto parameter = std::make_unique<Parameter>();
  parameter->name = name;
  parameter->variable.value = declared(shape);
  parameter->initial = {Initialisation::Kind::constant, initial};
  return parameter;
}

// Return the index, in [begin, end), of the token that the head reads.
std::int32_t row_of(std::span<const std::int32_t> ids, std::int32_t begin, std::int32_t end, TextRow which,
                    std::int32_t end_token) {
  if (which == TextRow::last) return end - 1;
  const auto from = ids.begin() + begin, to = ids.begin() + end;
  const auto found =
      which == TextRow::largest_id ? std::max_element(from, to) : std::find(from, to, end_token);
  return found == to ? begin : static_cast<std::int32_t>(found - ids.begin());
}

[[noreturn]] void no_decoder() {
  throw usage_error("this model compares texts and images, and cannot generate text")
      .remedy("Use a model with a decoder");
}

}  // namespace

DualEncoder::DualEncoder(DualEncoderConfig config) : config_(std::move(config)) {
  text_ = make_network(config_.text);
  vision_ = make_network(config_.vision);
  scale_ = single_number(config_.scale, config_.scale_shape, config_.initial_scale);
  if (!config_.bias.empty()) bias_ = single_number(config_.bias, config_.scale_shape, config_.initial_bias);
}

void DualEncoder::pad(std::vector<std::int32_t>& ids) const {
  const auto length = static_cast<std::size_t>(config_.text_length);
  if (ids.size() < length) ids.resize(length, config_.padding);
}

std::vector<Parameter*> DualEncoder::parameters() {
  std::vector<Parameter*> all = text_->parameters();
  const std::vector<Parameter*> vision = vision_->parameters();
  all.insert(all.end(), vision.begin(), vision.end());
  all.push_back(scale_.get());
  if (bias_) all.push_back(bias_.get());
  return all;
}

Var DualEncoder::encode(Tape& tape, const InputBatch& source) {
  const bool text = source.values.empty();
  if (ReplacingProbe* probe = replacing_probe(tape)) probe->begin(text ? "text" : "vision", source.shape);
  return (text ? text_ : vision_)->encode(tape, source);
}

Var DualEncoder::text_vectors(Tape& tape, Var hidden, const InputBatch& batch) {
  ops::require_ragged("text vectors", batch.shape, std::ssize(batch.ids));
  const std::span<std::int32_t> rows =
      tape.arena().array<std::int32_t>(static_cast<std::size_t>(batch.shape.sequences()));
  for (std::size_t s = 0; s < rows.size(); ++s) {
    const std::int32_t begin = batch.shape.offsets[s], end = batch.shape.offsets[s + 1];
    if (begin == end)
      throw input_error("text " + std::to_string(s) + " has no tokens, so it has no vector")
          .found("0 tokens")
          .expected("at least 1 token");
    rows[s] = row_of(batch.ids, begin, end, config_.text_row, config_.end_token);
  }
  return text_->head(tape, ops::select_rows(tape, hidden, rows), {});
}

Var DualEncoder::image_vectors(Tape& tape, Var hidden, const InputBatch& batch) {
  // Call begin() for the image encoder again: the text encoder may have run since the images were encoded,
  // and both encoders use the same probe points.
  if (ReplacingProbe* probe = replacing_probe(tape)) probe->begin("vision", batch.shape);
  return vision_->head(tape, hidden, batch);
}

Var DualEncoder::pair_logits(Tape& tape, Var texts, Var images) {
  return ops::scale_exp(tape, ops::linear(tape, texts, images, nullptr), &scale_->variable,
                        bias_ ? &bias_->variable : nullptr);
}

Var DualEncoder::contrastive_loss(Tape& tape, Var texts, Var images, float factor) {
  const std::int64_t count = texts->value.rows();
  if (images->value.rows() != count)
    throw usage_error("the numbers of texts and images in a contrastive batch differ")
        .found(counted(images->value.rows(), "image"))
        .expected(std::to_string(count) + ", one for each text");
  const float share = factor / static_cast<float>(count);
  Var per_text = pair_logits(tape, texts, images);
  if (config_.sigmoid) {
    const Tensor pairs = tape.arena().tensor({count, count});
    std::fill_n(pairs.f32(), pairs.elements(), 0.0f);
    for (std::int64_t i = 0; i < count; ++i) pairs.row(i)[i] = 1.0f;
    return ops::binary_cross_entropy(tape, per_text, pairs, share);
  }
  const std::span<std::int32_t> own = tape.arena().array<std::int32_t>(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<std::int32_t>(i);
  ops::CrossEntropyOptions options;
  options.factor = 0.5f * share;
  Var per_image = pair_logits(tape, images, texts);
  return ops::add(tape, ops::cross_entropy(tape, per_text, own, options),
                  ops::cross_entropy(tape, per_image, own, options));
}

Var DualEncoder::decode(Tape&, const TokenBatch&, const Memory*, Cache*) {
  no_decoder();
}

Var DualEncoder::logits(Tape&, Var) {
  no_decoder();
}

Var DualEncoder::loss(Tape&, Var, std::span<const std::int32_t>, float, float) {
  no_decoder();
}

CacheShape DualEncoder::cache_shape() const {
  no_decoder();
}

void DualEncoder::prepare_for_inference(const nn::Preparation& how) {
  text_->prepare_for_inference(how);
  vision_->prepare_for_inference(how);
}

DualEncoder* dual_encoder_of(Network& model) {
  return dynamic_cast<DualEncoder*>(&model);
}

}  // namespace regard::models
