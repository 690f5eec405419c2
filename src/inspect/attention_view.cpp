#include "inspect/attention_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ops/ragged.h"
#include "ops/tape.h"
#include "tensor/arena.h"

namespace regard::inspect {
namespace {

// JSON with f32 numbers: nlohmann then writes the shortest decimal that parses to the same f32.
using FloatJson = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t,
                                       std::uint64_t, float>;

Map head_map(const LayerWeights& layer, std::size_t index) {
  Map map;
  map.head = {layer.kind, layer.layer, layer.heads[index]};
  map.rows = layer.weights.shape()[1], map.columns = layer.weights.shape()[2];
  const std::int64_t size = map.rows * map.columns;
  const float* begin = layer.weights.f32() + static_cast<std::int64_t>(index) * size;
  map.weights.assign(begin, begin + size);
  return map;
}

Map average_map(const LayerWeights& layer) {
  Map map = head_map(layer, 0);
  map.head.head = -1;
  map.average = true;
  map.averaged = layer.heads;
  const std::int64_t heads = layer.weights.shape()[0];
  for (std::size_t i = 0; i < map.weights.size(); ++i) {
    double sum = 0;
    for (std::int64_t h = 0; h < heads; ++h)
      sum += static_cast<double>(layer.weights.f32()[static_cast<std::size_t>(h) * map.weights.size() + i]);
    map.weights[i] = static_cast<float>(sum / static_cast<double>(heads));
  }
  return map;
}

FloatJson map_json(const Map& map) {
  FloatJson out{{"kind", name_of(map.head.kind)}, {"layer", map.head.layer}};
  if (map.average)
    out["average_of_heads"] = map.averaged;
  else
    out["head"] = map.head.head;
  FloatJson& rows = out["weights"] = FloatJson::array();
  for (std::int64_t r = 0; r < map.rows; ++r) {
    const auto begin = map.weights.begin() + r * map.columns;
    rows.push_back(std::vector<float>(begin, begin + map.columns));
  }
  return out;
}

}  // namespace

std::string Map::title() const {
  if (!caption.empty()) return caption;
  const char* kinds[] = {"encoder self-attention", "decoder self-attention", "cross-attention"};
  const std::string layer =
      fmt::format("{}, layer {}", kinds[static_cast<std::size_t>(head.kind)], head.layer);
  if (!average) return fmt::format("{}, head {}", layer, head.head);
  return fmt::format("{}, average of {} heads", layer, averaged.size());
}

std::string View::heading() const {
  return pair.empty() ? text : text + " | " + pair;
}

std::span<const std::string> View::row_labels(const Map& map) const {
  if (map.head.kind == Kind::encoder) return tokens.source;
  return map.head.kind == Kind::cross ? tokens.written : tokens.target;
}

std::span<const std::string> View::column_labels(const Map& map) const {
  return map.head.kind == Kind::decoder ? tokens.target : tokens.source;
}

std::vector<Map> maps_of(const Capture& capture, bool average) {
  std::vector<Map> maps;
  for (const LayerWeights& layer : capture.weights()) {
    if (average)
      maps.push_back(average_map(layer));
    else
      for (std::size_t h = 0; h < layer.heads.size(); ++h) maps.push_back(head_map(layer, h));
  }
  return maps;
}

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
  FloatJson& attention = out["attention"] = FloatJson::array();
  for (const Map& map : view.maps) attention.push_back(map_json(map));
  return out.dump();
}

Tensor run_with_probe(Network& model, ThreadPool& pool, const ModelInput& source,
                      std::span<const std::int32_t> target, Probe* probe) {
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  tape.probe = probe;
  InputBuffer sources;
  RaggedBuffer target_shape;
  target_shape.add(static_cast<std::int64_t>(target.size()), 0);
  Memory memory;
  if (model.kind() != ModelKind::decoder) {
    sources.add(source, model.input_spec().length_of(source), 0);
    memory.shape = sources.batch().shape;
    memory.hidden = model.encode(tape, sources.batch());
  }
  if (model.kind() == ModelKind::encoder) return {};
  const Memory* read = model.kind() == ModelKind::encoder_decoder ? &memory : nullptr;
  Var hidden = model.decode(tape, {target, target_shape.view()}, read, nullptr);
  if (model.output() != Output::next_token) return {};
  return model.logits(tape, hidden)->value.clone();
}

}  // namespace regard::inspect
