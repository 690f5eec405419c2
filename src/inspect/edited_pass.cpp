#include "inspect/edited_pass.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "ops/edit.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

// Set `*progress` to `reached` if its value is lower. `progress` may be null.
void record(const SharedProgress& progress, EditProgress reached) {
  if (!progress) return;
  EditProgress before = *progress;
  while (before < reached && !progress->compare_exchange_weak(before, reached)) {
  }
}

}  // namespace

std::string attention_name(Kind kind, std::int64_t layer) {
  if (kind == Kind::cross) return fmt::format("decoder.{}.cross", layer);
  return fmt::format("{}.{}.self", name_of(kind), layer);
}

std::string weights_name(const Head& head) {
  return attention_name(head.kind, head.layer) + ".weights";
}

void EditedPass::add(ValueEdit edit) {
  std::vector<ValueEdit>& edits = values_[edit.tower][edit.point];
  edits.push_back(std::move(edit));
}

void EditedPass::add(WeightEdit edit) {
  std::vector<WeightEdit>& edits = weights_[edit.tower][edit.head];
  edits.push_back(std::move(edit));
}

void EditedPass::add(RequiredLength length) {
  lengths_.push_back(std::move(length));
}

void EditedPass::add(SharedProgress progress, std::string intervention) {
  interventions_.emplace_back(std::move(progress), std::move(intervention));
}

std::string EditedPass::text() const {
  std::string text;
  for (const auto& [progress, intervention] : interventions_)
    text += (text.empty() ? "" : "\n") + intervention;
  return text;
}

std::vector<InterventionWarning> EditedPass::warnings() const {
  std::vector<InterventionWarning> warnings;
  for (const auto& [progress, intervention] : interventions_)
    if (const EditProgress reached = *progress; reached != EditProgress::changed)
      warnings.push_back({intervention, reached});
  return warnings;
}

void EditedPass::add(const EditedPass& other) {
  for (const RequiredLength& length : other.lengths_) add(length);
  for (const auto& [tower, points] : other.values_)
    for (const auto& [point, edits] : points)
      for (const ValueEdit& edit : edits) add(edit);
  for (const auto& [tower, heads] : other.weights_)
    for (const auto& [head, edits] : heads)
      for (const WeightEdit& edit : edits) add(edit);
}

void EditedPass::add_tower(const EditedPass& other, std::string_view tower) {
  const auto add_all = [&](const auto& all) {
    const auto found = all.find(tower);
    if (found == all.end()) return;
    for (const auto& [place, edits] : found->second)
      for (auto edit : edits) {
        edit.tower.clear();
        add(std::move(edit));
      }
  };
  add_all(other.values_), add_all(other.weights_);
  for (const RequiredLength& length : other.lengths_)
    if (length.tower == tower) add(RequiredLength{length.positions, length.intervention});
}

void EditedPass::check_lengths(const Ragged& shape) const {
  for (const RequiredLength& length : lengths_) {
    if (length.tower != tower_) continue;
    for (std::size_t s = 0; s + 1 < shape.offsets.size(); ++s)
      if (const std::int64_t found = shape.offsets[s + 1] - shape.offsets[s]; found != length.positions)
        throw usage_error(
            "the input and the other input of an intervention have different numbers of positions")
            .found(fmt::format("{} positions in '{}'", length.positions, length.intervention))
            .expected(counted(found, "position"))
            .remedy("Give a file of the same length, or patch single positions with positions=");
  }
}

void EditedPass::begin(std::string_view stack, const Ragged& shape) {
  if (stack == "encoder" || stack == "decoder")
    (stack == "encoder" ? encoder_ : decoder_) = shape;
  else
    tower_ = std::string(stack);
  if (stack == "encoder") check_lengths(shape);
  ForwardingProbe::begin(stack, shape);
}

const Ragged& EditedPass::shape_at(std::string_view point) const {
  return point.starts_with("encoder.") ? encoder_ : decoder_;
}

const std::vector<ValueEdit>* EditedPass::edits_at(std::string_view point) const {
  const auto points = values_.find(tower_);
  if (points == values_.end()) return nullptr;
  const auto found = points->second.find(point);
  return found == points->second.end() ? nullptr : &found->second;
}

const std::vector<WeightEdit>* EditedPass::edits_of(std::string_view point, std::int64_t head) const {
  const auto heads = weights_.find(tower_);
  if (heads == weights_.end()) return nullptr;
  const auto at = attention_point(point);
  const auto found = at ? heads->second.find({at->kind, at->layer, head}) : heads->second.end();
  return found == heads->second.end() ? nullptr : &found->second;
}

Var EditedPass::replace(Tape& tape, std::string_view point, Var value) {
  value = ForwardingProbe::replace(tape, point, value);
  const std::vector<ValueEdit>* const here = edits_at(point);
  if (here == nullptr) return value;
  const Ragged& shape = shape_at(point);
  if (std::ssize(shape.positions) < value->value.rows())
    throw usage_error("the values at this probe point have no positions, so they cannot be changed")
        .found(std::string(point));
  std::vector<ops::Edit> edits;
  for (const ValueEdit& one : *here) {
    record(one.progress, EditProgress::place);
    for (std::int64_t row = 0; row < value->value.rows(); ++row) {
      const std::int64_t position = shape.positions[static_cast<std::size_t>(row)];
      const std::int64_t index = one.positions.all() ? position : one.positions.index_of(position);
      const std::int64_t from = one.by_position ? index : 0;
      if (index < 0 || (one.offset.defined() && from >= one.offset.rows())) continue;
      edits.push_back(
          {row, one.begin, one.end, one.factor, one.offset.defined() ? one.offset.row(from) : nullptr});
      record(one.progress, EditProgress::changed);
    }
  }
  return edits.empty() ? value : ops::edit(tape, value, edits);
}

bool EditedPass::may_replace(std::string_view point) {
  return edits_at(point) != nullptr || ForwardingProbe::may_replace(point);
}

bool EditedPass::replaces_weights(std::string_view point, std::int64_t head) {
  return ForwardingProbe::replaces_weights(point, head) || edits_of(point, head) != nullptr;
}

void EditedPass::replace_weights(std::string_view point, const ProbedWeights& weights) {
  ForwardingProbe::replace_weights(point, weights);
  const std::vector<WeightEdit>* const edits = edits_of(point, weights.head);
  if (edits == nullptr) return;
  const Ragged& shape = shape_at(point);
  const std::int32_t first = shape.offsets[static_cast<std::size_t>(weights.sequence)];
  for (const WeightEdit& edit : *edits) {
    record(edit.progress, EditProgress::place);
    for (std::int64_t query = 0; query < weights.queries; ++query) {
      const std::int64_t position = shape.positions[static_cast<std::size_t>(first + query)];
      if (edit.positions.contain(position)) edit_query(edit, weights, query, position);
    }
  }
}

void EditedPass::edit_query(const WeightEdit& edit, const ProbedWeights& weights, std::int64_t query,
                            std::int64_t position) const {
  float* row = weights.weights + query * weights.keys;
  float* slope = weights.slope == nullptr ? nullptr : weights.slope + query * weights.keys;
  const auto set = [&](std::int64_t key, float weight) {
    record(edit.progress, EditProgress::changed);
    row[key] = weight;
    if (slope != nullptr) slope[key] = 0.0f;
  };
  const std::uint8_t* allowed = weights.allowed + query * weights.keys;
  if (edit.action == Action::replace || edit.action == Action::freeze) {
    const bool frozen = edit.action == Action::freeze;
    // Padding tokens have the position -1 in some families (PositionRule::over_tokens).
    if (frozen ? position < edit.from : position < 0 || position >= edit.pattern.rows()) return;
    const float* pattern = edit.pattern.row(frozen ? 0 : position);
    for (std::int64_t key = 0; key < weights.keys; ++key)
      set(key, key < edit.pattern.columns() ? pattern[key] : 0.0f);
    return;
  }
  record(edit.progress, EditProgress::position);
  std::int64_t count = 0;
  for (std::int64_t key = 0; key < weights.keys; ++key) count += allowed[key];
  for (std::int64_t key = 0; key < weights.keys; ++key) {
    if (edit.action == Action::uniform) {
      set(key, allowed[key] == 0 ? 0.0f : 1.0f / static_cast<float>(count));
    } else if (edit.keys.contain(key)) {
      record(edit.progress, EditProgress::changed);
      row[key] *= edit.factor;
      if (slope != nullptr) slope[key] *= edit.factor;
    }
  }
}

void PointCapture::want_weights(const Head& head) {
  heads_[attention_name(head.kind, head.layer)] = head.head;
  want(weights_name(head));
}

bool PointCapture::wants_head(std::string_view point, std::int64_t head) {
  const auto found = heads_.find(point);
  return found == heads_.end() || found->second == head;
}

void PointCapture::see(std::string_view point, std::int64_t sequence, const Tensor& value) {
  if (sequence <= 0) values_.find(point)->second = value.clone();
}

const Tensor& PointCapture::at(std::string_view point) const {
  const auto found = values_.find(point);
  if (found == values_.end() || !found->second.defined())
    throw usage_error("the model has no such probe point").found(std::string(point));
  return found->second;
}

}  // namespace regard::inspect
