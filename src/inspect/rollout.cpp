#include "inspect/rollout.h"

#include <cstdint>
#include <map>
#include <utility>

#include "regard/error.h"

namespace regard::inspect {

std::vector<double> rollout_of(const std::vector<std::vector<double>>& layers, std::size_t tokens) {
  std::vector<double> all;
  for (const std::vector<double>& layer : layers) {
    if (all.empty()) {
      all = layer;
      continue;
    }
    std::vector<double> product(all.size(), 0.0);
    for (std::size_t i = 0; i < tokens; ++i)
      for (std::size_t k = 0; k < tokens; ++k)
        for (std::size_t j = 0; j < tokens; ++j)
          product[i * tokens + j] += layer[i * tokens + k] * all[k * tokens + j];
    all = std::move(product);
  }
  return all;
}

std::vector<float> attention_rollout(const std::vector<Map>& maps) {
  // for each layer, the sum of its heads' attention weights, and the number of heads
  std::map<std::int64_t, std::pair<std::vector<double>, int>> layers;
  std::size_t size = 0;
  for (const Map& map : maps) {
    if (map.head.kind != Kind::encoder) continue;
    size = static_cast<std::size_t>(map.rows);
    auto& [sum, heads] = layers[map.head.layer];
    sum.resize(map.weights.size(), 0.0);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(map.weights[i]);
    ++heads;
  }
  if (layers.empty())
    throw usage_error("attention rollout: the model has no self-attention in an encoder")
        .expected("an encoder or an encoder-decoder");
  std::vector<std::vector<double>> mixed;
  for (auto& [number, layer] : layers) {
    std::vector<double> mean = std::move(layer.first);
    for (double& x : mean) x *= 0.5 / layer.second;
    for (std::size_t i = 0; i < size; ++i) mean[i * size + i] += 0.5;
    mixed.push_back(std::move(mean));
  }
  const std::vector<double> rolled = rollout_of(mixed, size);
  return {rolled.begin(), rolled.end()};
}

}  // namespace regard::inspect
