#include "inspect/attention_view.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "ops/ragged.h"
#include "ops/tape.h"
#include "tensor/arena.h"

namespace regard::inspect {
namespace {

Map head_map(const LayerWeights& layer, std::size_t index) {
  Map map;
  map.head = {layer.kind, layer.layer, layer.heads[index]};
  map.rows = layer.weights.shape()[1], map.columns = layer.weights.shape()[2];
  const std::int64_t size = map.rows * map.columns;
  const float* begin = layer.weights.f32() + static_cast<std::int64_t>(index) * size;
  map.weights.assign(begin, begin + size);
  map.range = layer.range;
  return map;
}

// Return the columns [begin, begin + width) of x.
std::vector<float> columns_of(const Tensor& x, std::int64_t begin, std::int64_t width) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(x.rows() * width));
  for (std::int64_t row = 0; row < x.rows(); ++row)
    out.insert(out.end(), x.row(row) + begin, x.row(row) + begin + width);
  return out;
}

// Return the query, key and value vectors of one head. With fewer key heads than query heads, groups of query
// heads share keys and values (grouped-query attention).
HeadValues values_of(const LayerVectors& vectors, std::int64_t head) {
  const std::int64_t size = vectors.query.columns() / vectors.heads;
  const std::int64_t groups = vectors.key.columns() / size, shared = vectors.heads / groups;
  HeadValues out;
  out.size = size, out.value_size = vectors.value.columns() / groups, out.scale = vectors.scale;
  out.query = columns_of(vectors.query, head * size, size);
  out.key = columns_of(vectors.key, head / shared * size, size);
  out.value = columns_of(vectors.value, head / shared * out.value_size, out.value_size);
  return out;
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

}  // namespace

std::string Map::title() const {
  if (!caption.empty()) return caption;
  const char* kinds[] = {"encoder self-attention", "decoder self-attention", "cross-attention"};
  const std::string layer =
      fmt::format("{}, layer {}", kinds[static_cast<std::size_t>(head.kind)], head.layer);
  if (!average) return fmt::format("{}, head {}", layer, head.head);
  return fmt::format("{}, average of {}", layer, counted(averaged.size(), "head"));
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

const std::vector<bool>& View::special_rows(const Map& map) const {
  if (map.head.kind == Kind::encoder) return tokens.special_source;
  return map.head.kind == Kind::cross ? tokens.special_written : tokens.special_target;
}

const std::vector<bool>& View::special_columns(const Map& map) const {
  return map.head.kind == Kind::decoder ? tokens.special_target : tokens.special_source;
}

std::vector<Map> maps_of(Capture& capture, bool average) {
  std::vector<Map> maps;
  std::vector<LayerWeights> layers = capture.take_weights();
  for (LayerWeights& layer : layers) {
    if (average)
      maps.push_back(average_map(layer));
    else
      for (std::size_t h = 0; h < layer.heads.size(); ++h) {
        maps.push_back(head_map(layer, h));
        if (const LayerVectors* vectors = capture.vectors(layer.kind, layer.layer))
          maps.back().values = values_of(*vectors, layer.heads[h]);
      }
    layer.weights = Tensor();
  }
  return maps;
}

Tensor run_with_probe(Network& model, ThreadPool& pool, const PassBatches& batches, Probe* probe) {
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  tape.probe = probe;
  Memory memory;
  if (model.kind() != ModelKind::decoder) {
    memory.shape = batches.source.shape;
    memory.hidden = model.encode(tape, batches.source);
  }
  if (model.kind() == ModelKind::encoder) {
    // The output head may contain an attention layer (models/attention_pooling.h).
    if (model.output() == Output::pooled) model.head(tape, memory.hidden, batches.source);
    return {};
  }
  const Memory* read = model.kind() == ModelKind::encoder_decoder ? &memory : nullptr;
  Var hidden = model.decode(tape, batches.target, read, nullptr);
  if (model.output() != Output::next_token) return {};
  return model.logits(tape, hidden)->value.clone();
}

Tensor run_with_probe(Network& model, ThreadPool& pool, const ModelInput& source,
                      std::span<const std::int32_t> target, Probe* probe) {
  InputBuffer sources;
  RaggedBuffer target_shape;
  target_shape.add(static_cast<std::int64_t>(target.size()), 0);
  if (model.kind() != ModelKind::decoder) sources.add(source, model.input_spec().length_of(source), 0);
  return run_with_probe(model, pool, {sources.batch(), {target, target_shape.view()}}, probe);
}

}  // namespace regard::inspect
