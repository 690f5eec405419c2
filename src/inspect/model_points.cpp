// ModelPoints: the probe points and heads of a model.
#include <fmt/format.h>

#include <algorithm>

#include "inspect/attention_view.h"
#include "inspect/resolve.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

// Records every probe point with its number of features, and the number of heads of every attention layer.
class PointList : public ReplacingProbe {
 public:
  bool replaces_weights(std::string_view point, std::int64_t) override {
    if (const auto at = attention_point(std::string(point) + ".weights"))
      points.replaceable.insert({at->kind, at->layer});
    return false;
  }
  bool wants(std::string_view) override { return true; }
  void see(std::string_view point, std::int64_t, const Tensor& value) override {
    if (const auto at = attention_point(point); at && at->what == "weights")
      points.heads[{at->kind, at->layer}] = value.shape()[0];
    else
      points.features[std::string(point)] = value.columns();
  }
  ModelPoints points;
};

}  // namespace

ModelPoints ModelPoints::of(Network& model, ThreadPool& pool) {
  PointList list;
  const std::int32_t any[] = {0};
  run_with_probe(model, pool, model.input_spec().blank(), any, &list);
  return std::move(list.points);
}

std::vector<Head> ModelPoints::all_heads() const {
  std::vector<Head> all;
  for (const auto& [place, count] : heads)
    for (std::int64_t head = 0; head < count; ++head) all.push_back({place.first, place.second, head});
  return all;
}

std::int64_t ModelPoints::head_size(const Head& head) const {
  const auto found = heads.find({head.kind, head.layer});
  if (found != heads.end() && head.head < found->second) {
    const auto context = features.find(attention_name(head.kind, head.layer) + ".context");
    if (context == features.end())
      throw usage_error("interventions cannot change the head outputs of this model")
          .found(head.text())
          .remedy("Use an ablation of the head instead of an intervention");
    return context->second / found->second;
  }
  std::int64_t layers = 0, count = 0;
  for (const auto& [place, of_layer] : heads)
    if (place.first == head.kind) layers = std::max(layers, place.second + 1), count = of_layer;
  throw usage_error("the model has no such head")
      .found(head.text())
      .expected(layers == 0 ? fmt::format("a model with {} attention", name_of(head.kind))
                            : fmt::format("layers 0 to {}, heads 0 to {}", layers - 1, count - 1));
}

ValueEdit ModelPoints::of_head(const Head& head) const {
  const std::int64_t size = head_size(head);
  return {attention_name(head.kind, head.layer) + ".context",
          head.head * size,
          (head.head + 1) * size,
          0.0f,
          {},
          false,
          {}};
}

}  // namespace regard::inspect
