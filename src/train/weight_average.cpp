#include "train/weight_average.h"

#include <vector>

#include "formats/weights.h"
#include "ops/parameter.h"

namespace regard::train {

void average_weights(Network& model, std::span<const std::filesystem::path> checkpoints) {
  std::vector<formats::Weights> files;
  for (const auto& folder : checkpoints) files.push_back(formats::Weights::open(folder));
  const double share = 1.0 / static_cast<double>(files.size());
  std::vector<double> sum;
  for (Parameter* parameter : model.parameters()) {
    const Tensor& value = parameter->value();
    const auto count = static_cast<std::size_t>(value.elements());
    sum.assign(count, 0.0);
    for (const formats::Weights& file : files) {
      const Tensor saved = file.tensor(parameter->name);
      if (saved.dtype() != DType::f32 || !(saved.shape() == value.shape()))
        throw file_error(file.label(), "'" + parameter->name + "' does not match the model")
            .found(saved.shape().text())
            .expected(value.shape().text());
      const float* from = saved.f32();
      for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<double>(from[i]);
    }
    for (std::size_t i = 0; i < count; ++i) value.f32()[i] = static_cast<float>(sum[i] * share);
  }
}

}  // namespace regard::train
