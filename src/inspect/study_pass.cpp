#include "inspect/study_pass.h"

#include <algorithm>
#include <cmath>

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

std::int64_t positions_of(const StudyExample& example) {
  return std::ssize(example.input.source.ids) + std::ssize(example.input.target);
}

}  // namespace

void InjectedPass::skip(const std::string& stack, std::int64_t layers, const Tensor& output) {
  for (std::int64_t layer = 0; layer < layers; ++layer)
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
    if (model.kind() == ModelKind::encoder)
      labels_.insert(labels_.end(), examples[i].labels.begin(), examples[i].labels.end());
    else
      add_target(examples[i], i);
  }
}

// Add the positions of the example up to its last prediction, at least one.
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
    return loss_of(tape, model_.decode(tape, {ids_, shape_.view()}, nullptr, nullptr), shape_.view());
  Memory read;
  read.shape = sources_.batch().shape;
  read.hidden = memory.defined() ? tape.constant(memory) : model_.encode(tape, sources_.batch());
  if (hidden != nullptr) *hidden = read.hidden->value.clone();
  if (model_.kind() == ModelKind::encoder) return loss_of(tape, read.hidden, read.shape);
  return loss_of(tape, model_.decode(tape, {ids_, shape_.view()}, &read, nullptr), shape_.view());
}

StudyLoss StudyBatch::loss_of(Tape& tape, Var hidden, const Ragged& shape) const {
  StudyLoss loss;
  if (labels_.empty()) return loss;
  if (model_.kind() == ModelKind::encoder) {
    const Tensor& logits = model_.head(tape, hidden, shape)->value;
    for (std::int64_t row = 0; row < logits.rows(); ++row)
      loss.sum += cross_entropy(logits.row(row), logits.columns(), labels_[static_cast<std::size_t>(row)]);
    loss.count = logits.rows();
    return loss;
  }
  loss.count = std::ssize(labels_);
  if (rows_.size() < ids_.size()) hidden = ops::select_rows(tape, hidden, rows_);
  loss.sum = static_cast<double>(model_.loss(tape, hidden, labels_, 0.0f, 1.0f)->value.f32()[0]);
  return loss;
}

std::vector<StudyBatch> study_batches(Network& model, std::span<const StudyExample> examples) {
  for (const StudyExample& example : examples)
    if (example.labels.empty()) {
      Error error = usage_error("the study needs the target of each text").found("'" + example.text + "'");
      if (model.kind() == ModelKind::encoder && model.output() != Output::sequence_classes)
        throw error.expected("a decoder, an encoder-decoder or a text classifier");
      throw error.expected("TEXT<tab>LABEL");
    }
  std::vector<StudyBatch> batches;
  for (std::size_t first = 0; first < examples.size();) {
    std::size_t end = first;
    for (std::int64_t tokens = 0; end < examples.size(); ++end) {
      tokens += positions_of(examples[end]);
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
