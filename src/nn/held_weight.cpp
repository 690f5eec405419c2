#include "nn/held_weight.h"

#include <algorithm>
#include <vector>

namespace regard::nn {
namespace {

using kernels::WeightType;

WeightType type_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return WeightType::f16;
    case DType::bf16:
      return WeightType::bf16;
    case DType::i8:
      return WeightType::i8;
    default:
      return WeightType::f32;
  }
}

}  // namespace

bool any_held(std::span<Parameter* const> parts) {
  return std::any_of(parts.begin(), parts.end(), [](const Parameter* part) { return part->is_held(); });
}

Error held_weight_error() {
  return usage_error("a model loaded for inference cannot record gradients")
      .remedy("Load the model for training");
}

kernels::Precision precision_of(std::span<Parameter* const> parts) {
  return parts[0]->is_held() ? parts[0]->held.precision : kernels::Precision::f32;
}

std::int64_t stored_bytes(std::span<Parameter* const> parts) {
  std::int64_t bytes = 0;
  for (const Parameter* part : parts) {
    const DType dtype = part->is_held() ? part->held.dtype : DType::f32;
    bytes += part->value().elements() * static_cast<std::int64_t>(size_of(dtype));
    // In int8, a scale and the sum of the weights are also stored for each output.
    if (dtype == DType::i8) bytes += part->outputs() * static_cast<std::int64_t>(2 * sizeof(float));
  }
  return bytes;
}

kernels::PackedMatrix pack_held(ThreadPool& pool, std::span<Parameter* const> parts, bool transposed) {
  const DType dtype = parts[0]->held.dtype;
  const kernels::Precision precision = precision_of(parts);
  const bool alike = std::all_of(parts.begin(), parts.end(), [&](const Parameter* part) {
    return part->is_held() && part->held.dtype == dtype && part->held.precision == precision;
  });
  std::vector<Tensor> numbers;
  std::vector<kernels::MatrixPart> matrices;
  for (const Parameter* part : parts) {
    const Tensor& as_held = part->held.numbers;
    numbers.push_back(alike && as_held.defined() ? as_held : part->widened());
    const float* scale = part->held.scale.defined() ? part->held.scale.f32() : nullptr;
    matrices.push_back({numbers.back().data(), part->outputs(), numbers.back().columns(), scale});
  }
  const Shape& shape = parts[0]->value().shape();
  kernels::PackedMatrix packed =
      kernels::pack(pool, {alike ? type_of(dtype) : WeightType::f32, shape[transposed ? 0 : 1], !transposed,
                           matrices, alike ? precision : kernels::Precision::f32});
  for (Parameter* part : parts) {
    if (part->held.let_go)
      part->held.let_go();
    else
      part->held.numbers = part->held.scale = Tensor();
  }
  return packed;
}

}  // namespace regard::nn
