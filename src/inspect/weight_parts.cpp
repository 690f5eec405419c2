#include "inspect/weight_parts.h"

namespace regard::inspect {

std::vector<Selection> weight_parts(Network& model, const ModelPoints& points, const PassInput& input,
                                    const std::set<Kind>& kinds, std::int64_t numbers) {
  const std::int64_t target = std::ssize(input.target);
  const std::int64_t source =
      model.kind() == ModelKind::decoder ? 0 : model.input_spec().length_of(input.source);
  std::vector<Selection> parts;
  std::int64_t used = 0, all = 0;
  for (const auto& [place, heads] : points.heads) {
    const auto [kind, layer] = place;
    if (!kinds.empty() && kinds.count(kind) == 0) continue;
    const std::int64_t rows = kind == Kind::encoder ? source : target;
    const std::int64_t columns = kind == Kind::decoder ? target : source;
    const std::int64_t count = heads * rows * columns;
    // A part contains layers of only one kind, because a Selection's layers apply to all of its kinds.
    if (parts.empty() || parts.back().kinds.count(kind) == 0 || used + count > numbers) {
      parts.push_back({.kinds = {kind}, .layers = {}, .heads = {}});
      used = 0;
    }
    parts.back().layers.insert(layer);
    used += count, all += count;
  }
  if (all <= numbers) return {{.kinds = kinds, .layers = {}, .heads = {}}};
  return parts;
}

}  // namespace regard::inspect
