// Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/) for the hidden matrices, AdamW for
// all other weights. The arithmetic is that of torch.optim.Muon, except that the Newton–Schulz iteration is
// computed in f32 instead of bf16:
//   buffer += (1 − momentum) · (g − buffer)
//   u = buffer; with Nesterov's momentum, u = g + momentum · (buffer − g)
//   X = u / ‖u‖; then `iterations` times (default: 5): G = X Xᵀ, X = a X + (b G + c G G) X,
//       with a = 3.4445, b = −4.775, c = 2.0315
//   w −= learning_rate · weight_decay · w; w −= learning_rate · scale · X
// State: "momentum" of the hidden matrices, "first" and "second" of the others.
#pragma once

#include "train/optimizers/optimizer.h"

namespace regard::train {

// Return true if Muon updates the weight: a matrix of a linear layer inside a numbered layer, such as
// "encoder.layers.0". AdamW updates all other weights: embeddings, output layers, biases and normalisation
// weights.
bool is_hidden_matrix(const Parameter& parameter);

class Muon : public Optimizer {
 public:
  Muon(std::span<Parameter* const> parameters, const OptimizerOptions& options,
       std::span<const double> rate_factors = {}, bool (*hidden)(const Parameter&) = is_hidden_matrix);

 protected:
  void update(ThreadPool& pool, Slot& slot, const Step& step) override;

 private:
  void direction(ThreadPool& pool, Slot& slot, const Step& step);
  void orthogonalise(ThreadPool& pool, std::int64_t rows, std::int64_t columns);

  Tensor x_, next_, gram_, square_;  // buffers for the largest matrix
};

}  // namespace regard::train
