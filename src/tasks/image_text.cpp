#include "tasks/image_text.h"

#include <algorithm>
#include <cmath>

#include "ops/unit_rows.h"
#include "regard/error.h"
#include "tasks/probabilities.h"

namespace regard::tasks {
namespace {

constexpr std::size_t kImagesTogether = 16;

DualEncoder& dual_encoder_in(const infer::LoadedModel& loaded) {
  if (DualEncoder* model = dual_encoder_of(*loaded.model)) return *model;
  throw usage_error("this model is not a dual encoder of texts and images")
      .expected("a CLIP or SigLIP model");
}

}  // namespace

ImageTextEncoder::ImageTextEncoder(const infer::LoadedModel& loaded, ThreadPool& pool, Probe* probe)
    : model_(dual_encoder_in(loaded)),
      texts_(loaded, {.cut = true}),
      images_(loaded.folder.path, model_.vision().input_spec()),
      tape_(pool, arena_),
      probe_(probe) {}

Input ImageTextEncoder::read(std::string_view text) const {
  Input input = texts_.read(text);
  model_.pad(input.ids);
  return input;
}

void ImageTextEncoder::embed_some(std::span<const Input> inputs, float* vectors) {
  const bool texts = inputs[0].kind() == InputKind::tokens;
  const InputSpec& spec = (texts ? model_.text() : model_.vision()).input_spec();
  tape_.begin({});
  tape_.probe = probe_;
  batch_.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty())
      throw input_error("the vector of a text without tokens is not defined")
          .expected("a text of at least one token");
    batch_.add(inputs[i], spec.length_of(inputs[i]), i);
  }
  const InputBatch batch = batch_.batch();
  Var hidden = model_.encode(tape_, batch);
  const Tensor unit = ops::unit_rows(tape_, texts ? model_.text_vectors(tape_, hidden, batch)
                                                  : model_.image_vectors(tape_, hidden, batch))
                          ->value;
  for (std::int64_t i = 0; i < unit.elements(); ++i)
    if (!std::isfinite(unit.f32()[i]))
      throw Error(ErrorKind::numeric, "the embedding of a text or an image is not finite")
          .remedy("The weights may be damaged. Use an undamaged copy of the model");
  std::copy_n(unit.f32(), unit.elements(), vectors);
}

Tensor ImageTextEncoder::embed(std::span<const Input> inputs) {
  Tensor vectors = Tensor::zeros({std::ssize(inputs), size()});
  for (std::size_t first = 0; first < inputs.size();) {
    std::size_t end = first + 1;
    std::int64_t tokens = inputs[first].tokens();
    const auto fits = [&] {
      const Input& next = inputs[end];
      if (next.kind() != inputs[first].kind()) return false;
      if (next.kind() != InputKind::tokens) return end - first < kImagesTogether;
      return (tokens += next.tokens()) <= kPassTokens;
    };
    while (end < inputs.size() && fits()) ++end;
    embed_some(inputs.subspan(first, end - first), vectors.row(static_cast<std::int64_t>(first)));
    first = end;
  }
  return vectors;
}

Tensor ImageTextEncoder::logits(const Tensor& images, const Tensor& texts) {
  tape_.begin({});
  return model_.pair_logits(tape_, tape_.constant(images), tape_.constant(texts))->value.clone();
}

ZeroShotClassifier::ZeroShotClassifier(ImageTextEncoder& encoder, std::vector<std::string> labels,
                                       const std::string& pattern)
    : encoder_(encoder),
      labels_(std::move(labels)),
      scores_(encoder.independent() ? Scores::sigmoid : Scores::softmax) {
  if (labels_.empty()) throw usage_error("no labels are given").expected("at least one label");
  const std::size_t place = pattern.find("{}");
  if (place == std::string::npos)
    throw usage_error("the label pattern has no placeholder {}")
        .found("\"" + pattern + "\"")
        .expected("a text that contains {}");
  std::vector<Input> texts;
  for (const std::string& label : labels_)
    texts.push_back(encoder.read(std::string(pattern).replace(place, 2, label)));
  texts_ = encoder.embed(texts);
}

Tensor ZeroShotClassifier::scores(std::span<const Input> images) {
  Tensor all = encoder_.logits(encoder_.embed(images), texts_);
  for (std::int64_t row = 0; row < all.rows(); ++row) {
    const std::span<float> scores(all.row(row), labels_.size());
    if (scores_ == Scores::softmax)
      softmax(scores, scores);
    else if (scores_ == Scores::sigmoid)
      for (float& x : scores) x = static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x))));
  }
  return all;
}

}  // namespace regard::tasks
