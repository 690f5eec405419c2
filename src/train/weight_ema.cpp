#include "train/weight_ema.h"

#include <algorithm>
#include <cstring>

#include "kernels/optimizer.h"

namespace regard::train {

WeightEma::WeightEma(std::span<Parameter* const> parameters, double decay, bool warmup)
    : decay_(decay), warmup_(warmup) {
  if (decay == 0.0) return;
  for (Parameter* parameter : parameters)
    if (parameter->trainable()) averages_.push_back({parameter, parameter->value().clone()});
}

void WeightEma::update(ThreadPool& pool, std::int64_t updates) {
  const auto t = static_cast<double>(updates - 1);
  const double decay = warmup_ ? std::min(decay_, (1.0 + t) / (10.0 + t)) : decay_;
  for (const Average& average : averages_)
    kernels::moving_average(pool, updates == 1 ? 0.0 : decay, average.parameter->value().f32(),
                            average.value.f32(), average.value.elements());
}

void WeightEma::exchange() {
  for (const Average& average : averages_) {
    float* weight = average.parameter->value().f32();
    std::swap_ranges(weight, weight + average.value.elements(), average.value.f32());
  }
}

std::vector<formats::NamedTensor> WeightEma::state() const {
  std::vector<formats::NamedTensor> tensors;
  for (const Average& average : averages_)
    tensors.push_back({"weight." + average.parameter->name, average.value});
  return tensors;
}

void WeightEma::restore(const formats::SafetensorsFile& file) {
  for (const Average& average : averages_) {
    const std::string name = "weight." + average.parameter->name;
    const Tensor saved = file.tensor(name);
    if (saved.dtype() != DType::f32 || !(saved.shape() == average.value.shape()))
      throw file_error(file.path().string(), "'" + name + "' does not match the model")
          .found(saved.shape().text())
          .expected(average.value.shape().text());
    std::memcpy(average.value.data(), saved.data(), saved.bytes());
  }
  exchange();
}

}  // namespace regard::train
