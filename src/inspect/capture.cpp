#include "inspect/capture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "regard/error.h"

namespace regard::inspect {
namespace {

template <class T>
bool chosen(const std::set<T>& set, const T& value) {
  return set.empty() || set.count(value) != 0;
}

bool is_hidden_state(std::string_view point) {
  if (point.ends_with(".residual")) return true;
  for (const std::string_view whole :
       {"encoder.embedding", "encoder.output", "decoder.embedding", "decoder.output"})
    if (point == whole) return true;
  return false;
}

// Return true if `point` is `name` or ends with it, as "encoder.0.residual" ends with "residual".
bool is_named(std::string_view point, std::string_view name) {
  return point == name || (point.ends_with(name) && point[point.size() - name.size() - 1] == '.');
}

bool is_vector(std::string_view what) {
  return what == "query" || what == "key" || what == "value";
}

}  // namespace

bool Selection::wants(Kind kind, std::int64_t layer) const {
  return weights && chosen(kinds, kind) && chosen(layers, layer);
}

Capture::Capture(Selection selection, std::vector<Head> ablated)
    : selection_(std::move(selection)), ablated_(ablated.begin(), ablated.end()) {}

bool Capture::wants_vectors(std::string_view point) const {
  const auto at = attention_point(point);
  return at && is_vector(at->what) && selection_.values && selection_.wants(at->kind, at->layer);
}

bool Capture::wants_state(std::string_view point) const {
  if (selection_.hidden_states && is_hidden_state(point)) return true;
  return std::any_of(selection_.activations.begin(), selection_.activations.end(),
                     [&](const std::string& name) { return is_named(point, name); });
}

bool Capture::wants(std::string_view point) {
  if (const auto at = attention_point(point); at && at->what == "weights")
    return selection_.wants(at->kind, at->layer);
  if (!selection_.activations.empty()) points_.emplace(point);
  return selection_.shapes || wants_vectors(point) || wants_state(point);
}

bool Capture::wants_head(std::string_view point, std::int64_t head) {
  const auto at = attention_point(point);
  if (!at || !chosen(selection_.heads, head)) return false;
  shown_[{at->kind, at->layer}].insert(head);
  return true;
}

void Capture::see(std::string_view point, std::int64_t sequence, const Tensor& value) {
  const auto at = attention_point(point);
  if (!at || at->what != "weights") {
    if (selection_.shapes) shapes_.push_back({std::string(point), value.shape()});
    if (wants_vectors(point)) {
      LayerVectors& vectors = vectors_[{at->kind, at->layer}];
      (at->what == "query" ? vectors.query : at->what == "key" ? vectors.key : vectors.value) = value.clone();
    }
    if (wants_state(point)) hidden_states_[std::string(point)] = value.clone();
    return;
  }
  const std::set<std::int64_t>& heads = shown_[{at->kind, at->layer}];
  weights_.push_back(
      {at->kind, at->layer, sequence, {heads.begin(), heads.end()}, value, ranges_[{at->kind, at->layer}]});
}

float Capture::head_scale(std::string_view point, std::int64_t head) {
  const auto at = attention_point(point);
  if (!at) return 1.0f;
  std::int64_t& heads = heads_of_layer_[{at->kind, at->layer}];
  heads = std::max(heads, head + 1);
  if (selection_.values) vectors_[{at->kind, at->layer}].heads = heads;
  return ablated_.count({at->kind, at->layer, head}) != 0 ? 0.0f : 1.0f;
}

bool Capture::wants_parameters(std::string_view point) {
  const auto at = attention_point(point);
  return at && selection_.wants(at->kind, at->layer);
}

void Capture::see_parameters(std::string_view point,
                             const std::shared_ptr<const AttentionParameters>& parameters) {
  const auto at = attention_point(point);
  ranges_[{at->kind, at->layer}] = {parameters->causal(), parameters->window()};
  if (selection_.values) vectors_[{at->kind, at->layer}].scale = parameters->scale();
  if (selection_.parameters) parameters_[{at->kind, at->layer}] = parameters;
}

std::vector<PointShape> Capture::shapes() const {
  std::vector<PointShape> shapes = shapes_;
  for (PointShape& one : shapes)
    if (const auto at = attention_point(one.point); at && at->what == "query")
      if (const auto heads = heads_of_layer_.find({at->kind, at->layer}); heads != heads_of_layer_.end())
        one.heads = heads->second;
  return shapes;
}

const LayerVectors* Capture::vectors(Kind kind, std::int64_t layer) const {
  const auto found = vectors_.find({kind, layer});
  return found == vectors_.end() || !found->second.query.defined() ? nullptr : &found->second;
}

const AttentionParameters* Capture::parameters(Kind kind, std::int64_t layer) const {
  const auto found = parameters_.find({kind, layer});
  return found == parameters_.end() ? nullptr : found->second.get();
}

void Capture::check_head(const Head& head, const char* purpose) const {
  const auto found = heads_of_layer_.find({head.kind, head.layer});
  if (found != heads_of_layer_.end() && head.head < found->second) return;
  std::int64_t layers = 0, heads = 0;
  for (const auto& [place, count] : heads_of_layer_) {
    if (place.first != head.kind) continue;
    layers = std::max(layers, place.second + 1);
    heads = std::max(heads, count);
  }
  throw usage_error(fmt::format("cannot {3} head {2} of {0} attention layer {1}: there is no such head",
                                name_of(head.kind), head.layer, head.head, purpose))
      .expected(layers == 0 ? fmt::format("a model with {} attention", name_of(head.kind))
                            : fmt::format("layers 0 to {}, heads 0 to {}", layers - 1, heads - 1));
}

void Capture::check_activations() const {
  for (const std::string& name : selection_.activations) {
    if (std::any_of(points_.begin(), points_.end(),
                    [&](const std::string& point) { return is_named(point, name); }))
      continue;
    throw usage_error("the model has no activation '" + name + "'")
        .expected(fmt::format("a probe point or the end of its name, such as {}", fmt::join(points_, ", ")));
  }
}

void Capture::check() const {
  for (const Head& head : ablated_) check_head(head, "ablate");
  check_activations();
  if (!selection_.weights) return;
  std::set<Kind> kinds = selection_.kinds;
  if (kinds.empty())
    for (const auto& [place, count] : heads_of_layer_) kinds.insert(place.first);
  for (const Kind kind : kinds) {
    const std::set<std::int64_t> none{0};
    for (const std::int64_t layer : selection_.layers.empty() ? none : selection_.layers)
      for (const std::int64_t head : selection_.heads.empty() ? none : selection_.heads)
        check_head({kind, layer, head}, "show");
  }
}

}  // namespace regard::inspect
