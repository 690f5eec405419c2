#include "inspect/rollout.h"

#include <cstdint>
#include <map>

#include "regard/error.h"

namespace regard::inspect {
namespace {

using Matrix = std::vector<double>;  // [size, size]

Matrix product(const Matrix& a, const Matrix& b, std::size_t size) {
  Matrix c(size * size, 0.0);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t k = 0; k < size; ++k)
      for (std::size_t j = 0; j < size; ++j) c[i * size + j] += a[i * size + k] * b[k * size + j];
  return c;
}

}  // namespace

std::vector<float> attention_rollout(const std::vector<Map>& maps) {
  std::map<std::int64_t, std::pair<Matrix, int>> layers;  // sum of the heads and their number
  std::size_t size = 0;
  for (const Map& map : maps) {
    if (map.head.kind != Kind::encoder) continue;
    size = static_cast<std::size_t>(map.rows);
    auto& [sum, heads] = layers[map.head.layer];
    sum.resize(map.weights.size(), 0.0);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(map.weights[i]);
    ++heads;
  }
  if (layers.empty()) throw usage_error("attention rollout needs the encoder's attention");
  Matrix rolled;
  for (auto& [number, layer] : layers) {
    Matrix& mean = layer.first;
    for (double& x : mean) x *= 0.5 / layer.second;
    for (std::size_t i = 0; i < size; ++i) mean[i * size + i] += 0.5;
    rolled = rolled.empty() ? mean : product(mean, rolled, size);
  }
  return {rolled.begin(), rolled.end()};
}

}  // namespace regard::inspect
