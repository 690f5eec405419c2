#include "nn/low_rank.h"

#include "kernels/gemm.h"
#include "kernels/rows.h"
#include "regard/error.h"

namespace regard::nn {
namespace {

// Only Linear creates weights for which has_low_rank() is true, so their block is a LinearBlock.
LinearBlock& block_of(const Parameter& weight) {
  return *static_cast<LinearBlock*>(weight.block);
}

std::int64_t first_column(const Parameter& weight) {
  return weight.use == Parameter::Use::linear ? weight.first_row : 0;
}

}  // namespace

bool has_low_rank(const Parameter& weight) {
  return weight.block != nullptr && weight.stored_shape.rank() != 4 &&
         (weight.use == Parameter::Use::linear || weight.use == Parameter::Use::transposed_linear);
}

LowRank& add_low_rank(Parameter& weight, const std::string& name, std::int64_t rank, float scale) {
  if (!has_low_rank(weight))
    throw usage_error("\"" + weight.name + "\" cannot have a low-rank update")
        .expected("the weight of a linear layer");
  if (low_rank_of(weight) != nullptr)
    throw usage_error("\"" + weight.name + "\" has a low-rank update already");
  const Shape& shape = weight.value().shape();
  const std::int64_t in = shape[weight.use == Parameter::Use::linear ? 1 : 0];
  auto update = std::make_unique<LowRank>();
  update->column = first_column(weight);
  update->scale = scale;
  update->a.name = name + ".lora_A.weight";
  update->a.variable.value = Tensor::zeros({rank, in});
  update->b.name = name + ".lora_B.weight";
  update->b.variable.value = Tensor::zeros({weight.outputs(), rank});
  return *block_of(weight).updates.emplace_back(std::move(update));
}

LowRank* low_rank_of(const Parameter& weight) {
  if (!has_low_rank(weight)) return nullptr;
  for (const auto& update : block_of(weight).updates)
    if (update->column == first_column(weight)) return update.get();
  return nullptr;
}

void merge_low_rank(ThreadPool& pool, Parameter& weight) {
  const LowRank* update = low_rank_of(weight);
  if (update == nullptr) return;
  if (weight.is_held())
    throw usage_error("a model loaded for inference cannot be merged with an adapter")
        .remedy("Load the model for training");
  const bool transposed = weight.use == Parameter::Use::transposed_linear;
  const Tensor &a = update->a.value(), &b = update->b.value();
  const std::int64_t rank = a.rows(), in = a.columns(), out = b.rows();
  Tensor delta = Tensor::zeros(weight.value().shape());
  kernels::Gemm product;  // B A [out, in], or Aᵀ Bᵀ [in, out]
  product.m = transposed ? in : out, product.n = transposed ? out : in, product.k = rank;
  product.a = transposed ? a.f32() : b.f32(), product.lda = transposed ? in : rank;
  product.b = transposed ? b.f32() : a.f32(), product.ldb = transposed ? rank : in;
  product.transpose_a = product.transpose_b = transposed;
  product.c = delta.f32(), product.ldc = product.n;
  kernels::gemm(pool, product);
  Tensor merged = weight.value().clone();
  kernels::axpy(pool, update->scale, delta.f32(), merged.f32(), merged.elements());
  weight.adopt(merged);
  std::erase_if(block_of(weight).updates, [update](const auto& one) { return one.get() == update; });
}

}  // namespace regard::nn
