#include "inspect/study_pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "ops/ctc_loss.h"
#include "ops/embedding.h"
#include "ops/tape.h"
#include "regard/error.h"
#include "tensor/arena.h"

namespace regard::inspect {
namespace {

constexpr std::int64_t kBatchTokens = 1024;

// Return −log softmax(logits)[label], in double.
double cross_entropy(const float* logits, std::int64_t count, std::int32_t label) {
  const double most = static_cast<double>(*std::max_element(logits, logits + count));
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(logits[i]) - most);
  return most + std::log(sum) - static_cast<double>(logits[label]);
}

// Return the mean over the classes of −log σ(±logit), with + for the classes in `labels`.
double binary_cross_entropy(const float* logits, std::int64_t count, std::span<const std::int32_t> labels) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool on = std::ranges::find(labels, static_cast<std::int32_t>(i)) != labels.end();
    const double logit = static_cast<double>(logits[i]), wrong = on ? -logit : logit;
    sum += std::max(wrong, 0.0) + std::log1p(std::exp(-std::abs(wrong)));
  }
  return sum / static_cast<double>(count);
}

std::int64_t positions_of(Network& model, const StudyExample& example) {
  const std::int64_t source =
      model.kind() == ModelKind::decoder ? 0 : model.input_spec().length_of(example.input.source);
  return source + std::ssize(example.input.target);
}

// Return the options of the CTC loss from the folder's config. A transcript that is too long for the sound
// has an infinite loss.
ops::CtcOptions ctc_options(const Network& model) {
  ops::CtcOptions options;
  options.blank = static_cast<std::int32_t>(model.config().value("pad_token_id", 0));
  return options;
}

}  // namespace

void InjectedPass::skip(const std::string& stack, std::int64_t layer, const Tensor& output) {
  put(stack + "." + std::to_string(layer) + ".skip", output);
}

void InjectedPass::skip_attention(Kind kind, std::int64_t layer, const Tensor& context) {
  put(attention_name(kind, layer) + ".context.skip", context);
}

Var InjectedPass::replace(Tape& tape, std::string_view point, Var value) {
  const auto found = values_.find(point);
  return found == values_.end() ? value : tape.constant(found->second);
}

StudyBatch::StudyBatch(Network& model, std::span<const StudyExample> examples) : model_(model) {
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const PassInput& input = examples[i].input;
    if (model.kind() != ModelKind::decoder)
      sources_.add(input.source, model.input_spec().length_of(input.source), i);
    if (model.kind() == ModelKind::encoder) {
      labels_.insert(labels_.end(), examples[i].labels.begin(), examples[i].labels.end());
      label_offsets_.push_back(static_cast<std::int32_t>(labels_.size()));
    } else {
      add_target(examples[i], i);
    }
  }
}

// Add the positions of the example up to its last prediction, and at least one position.
void StudyBatch::add_target(const StudyExample& example, std::uint64_t index) {
  const std::vector<std::int32_t>& target = example.input.target;
  std::size_t used = std::min<std::size_t>(1, target.size());
  for (std::size_t at = 0; at < std::min(target.size(), example.labels.size()); ++at) {
    if (example.labels[at] == kIgnoredLabel) continue;
    used = at + 1;
    rows_.push_back(static_cast<std::int32_t>(ids_.size() + at));
    labels_.push_back(example.labels[at]);
  }
  ids_.insert(ids_.end(), target.begin(), target.begin() + static_cast<std::ptrdiff_t>(used));
  shape_.add(static_cast<std::int64_t>(used), index);
}

StudyLoss StudyBatch::loss(ThreadPool& pool, Probe* probe, const Tensor& memory, Tensor* hidden) const {
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  tape.probe = probe;
  if (model_.kind() == ModelKind::decoder)
    return loss_of_decoder(tape, model_.decode(tape, {ids_, shape_.view()}, nullptr, nullptr));
  Memory read;
  read.shape = sources_.batch().shape;
  read.hidden = memory.defined() ? tape.constant(memory) : model_.encode(tape, sources_.batch());
  if (hidden != nullptr) *hidden = read.hidden->value.clone();
  if (model_.kind() == ModelKind::encoder) return loss_of_encoder(tape, read.hidden);
  return loss_of_decoder(tape, model_.decode(tape, {ids_, shape_.view()}, &read, nullptr));
}

StudyLoss StudyBatch::loss_of_encoder(Tape& tape, Var hidden) const {
  const InputBatch batch = sources_.batch();
  StudyLoss loss;
  Var logits = model_.head(tape, hidden, batch);
  if (model_.output() == Output::ctc) {
    loss.count = std::ssize(labels_);
    const std::span<const std::int32_t> offsets = model_.output_shape(tape, batch.shape).offsets;
    loss.sum = static_cast<double>(
        ops::ctc_loss(tape, logits, offsets, labels_, label_offsets_, ctc_options(model_))->value.f32()[0]);
    return loss;
  }
  const Tensor& rows = logits->value;
  const bool many = is_multi_label(model_);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const auto first = static_cast<std::size_t>(label_offsets_[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(label_offsets_[static_cast<std::size_t>(row) + 1]);
    const auto labels = std::span(labels_).subspan(first, end - first);
    loss.sum += many ? binary_cross_entropy(rows.row(row), rows.columns(), labels)
                     : cross_entropy(rows.row(row), rows.columns(), labels[0]);
  }
  loss.count = rows.rows();
  return loss;
}

StudyLoss StudyBatch::loss_of_decoder(Tape& tape, Var hidden) const {
  StudyLoss loss;
  if (labels_.empty()) return loss;
  loss.count = std::ssize(labels_);
  if (rows_.size() < ids_.size()) hidden = ops::select_rows(tape, hidden, rows_);
  loss.sum = static_cast<double>(model_.loss(tape, hidden, labels_, 0.0f, 1.0f)->value.f32()[0]);
  return loss;
}

std::vector<StudyBatch> study_batches(Network& model, std::span<const StudyExample> examples) {
  const std::string input = input_name(model);
  if (model.kind() == ModelKind::encoder && model.output() != Output::sequence_classes &&
      model.output() != Output::ctc)
    throw usage_error("the study needs a model that computes a loss for each input")
        .found("an encoder without a loss for a whole " + input)
        .expected(fmt::format("a decoder, an encoder-decoder or a classifier of {}s", input));
  const bool many = is_multi_label(model);
  for (const StudyExample& example : examples)
    if (example.labels.empty() && (!many || example.target.empty())) {
      throw usage_error(fmt::format("the study needs the target of each {}", input))
          .found("'" + example.text + "'")
          .expected(input == "text"                 ? "TEXT<tab>LABEL"
                    : model.output() == Output::ctc ? "the text of each sound"
                                                    : fmt::format("a label of each {}", input));
    }
  std::vector<StudyBatch> batches;
  for (std::size_t first = 0; first < examples.size();) {
    std::size_t end = first;
    for (std::int64_t tokens = 0; end < examples.size(); ++end) {
      tokens += positions_of(model, examples[end]);
      if (tokens > kBatchTokens && end > first) break;
    }
    batches.emplace_back(model, examples.subspan(first, end - first));
    first = end;
  }
  return batches;
}

StudyLoss loss_of(const std::vector<StudyBatch>& batches, ThreadPool& pool, Probe* probe) {
  StudyLoss loss;
  for (const StudyBatch& batch : batches) loss.add(batch.loss(pool, probe));
  return loss;
}

}  // namespace regard::inspect
