#include "inspect/capture_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "inspect/head_pattern.h"

namespace regard::inspect {
namespace {

// JSON with f32 numbers: nlohmann then writes the shortest decimal that parses to the same f32.
using FloatJson = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t,
                                       std::uint64_t, float>;

const char* kind_name(ModelKind kind) {
  if (kind == ModelKind::encoder) return "encoder";
  return kind == ModelKind::decoder ? "decoder" : "encoder-decoder";
}

FloatJson matrix_json(const std::vector<float>& numbers, std::int64_t columns) {
  FloatJson rows = FloatJson::array();
  for (auto row = numbers.begin(); row != numbers.end(); row += columns)
    rows.push_back(std::vector<float>(row, row + columns));
  return rows;
}

FloatJson map_json(const View& view, const Map& map) {
  FloatJson out{{"kind", name_of(map.head.kind)}, {"layer", map.head.layer}};
  if (map.average)
    out["average_of_heads"] = map.averaged;
  else
    out["head"] = map.head.head;
  out["weights"] = matrix_json(map.weights, map.columns);
  const HeadSummary summary = summarize(view, map);
  out["entropy"] = static_cast<float>(summary.entropy);
  if (map.head.kind != Kind::cross) out["distance"] = static_cast<float>(summary.distance);
  out["pattern"] = name_of(summary.pattern);
  out["share"] = static_cast<float>(summary.share);
  out["telling"] = static_cast<float>(summary.telling);
  out["caption"] = summary.caption;
  if (map.values)
    out["values"] = {{"query", matrix_json(map.values->query, map.values->size)},
                     {"key", matrix_json(map.values->key, map.values->size)},
                     {"value", matrix_json(map.values->value, map.values->value_size)},
                     {"scale", 1.0f / std::sqrt(static_cast<float>(map.values->size))},
                     {"causal", map.head.kind == Kind::decoder}};
  return out;
}

void add_special(const Tokens& tokens, FloatJson& out) {
  if (!tokens.special_source.empty()) out["special"]["source"] = tokens.special_source;
  if (!tokens.special_target.empty()) out["special"]["target"] = tokens.special_target;
}

}  // namespace

std::string to_json(const View& view) {
  FloatJson out;
  out["model"] = view.model;
  out["text"] = view.text;
  if (!view.pair.empty()) out["pair"] = view.pair;
  if (!view.tokens.target.empty()) out["translation"] = view.translation;
  if (!view.unablated.empty()) out["translation_without_ablation"] = view.unablated;
  if (!view.tokens.source.empty()) out["source_tokens"] = view.tokens.source;
  if (!view.tokens.target.empty()) {
    out["target_tokens"] = view.tokens.target;
    out["written_tokens"] = view.tokens.written;
  }
  FloatJson& ablated = out["ablated"] = FloatJson::array();
  for (const Head& head : view.ablated) ablated.push_back(head.text());
  if (!view.interventions.empty()) out["interventions"] = view.interventions;
  FloatJson& attention = out["attention"] = FloatJson::array();
  for (const Map& map : view.maps) attention.push_back(map_json(view, map));
  add_special(view.tokens, out);
  if (view.size)
    out["shape"] = {{"kind", kind_name(view.size->kind)},
                    {"hidden", view.size->hidden},
                    {"vocabulary", view.size->vocabulary},
                    {"parameters", view.size->parameters}};
  if (!view.left_out.empty()) out["left_out"] = view.left_out;
  out["format"] = "regard-capture";
  out["version"] = 1;
  return out.dump();
}

void limit_values(View& view, std::size_t numbers) {
  std::vector<std::pair<double, Map*>> ranked;
  for (Map& map : view.maps)
    if (map.values) ranked.emplace_back(summarize(view, map).telling, &map);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::size_t used = 0, dropped = 0;
  for (const auto& [telling, map] : ranked) {
    const HeadValues& values = *map->values;
    used += values.query.size() + values.key.size() + values.value.size();
    if (used <= numbers) continue;
    map->values.reset();
    ++dropped;
  }
  if (dropped > 0)
    view.left_out =
        fmt::format("Query, key and value vectors are left out for {} of {} heads.", dropped, ranked.size());
}

}  // namespace regard::inspect
