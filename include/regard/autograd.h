// A small learner for experiments: parameters, a tape, back-propagation and AdamW. What the training loop of
// whole models is made of, in the size of a tutorial.
//
//   regard::Learner learner;
//   const auto w = learner.parameter("W", regard::random_normal({4, 4}, 1, "W"));
//   for (int step = 0; step < 100; ++step) {
//     learner.begin();
//     const auto loss = learner.squared_error(learner.linear(learner.constant(x), w), target);
//     std::printf("%f\n", learner.step(loss, 1e-2f));
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "regard/tensor.h"

namespace regard {

struct Variable;

// A node of the tape: a parameter (valid as long as the learner) or an intermediate (valid until the next
// begin()).
using Value = Variable*;

// Tensors are f32. Throws usage where shapes or dtypes do not fit, a Value is null, or the Learner was moved
// from: it is then empty, and good for nothing but being destroyed or assigned to. May be used from several
// threads at once: its calls take turns, each on the one tape. What value() and gradient() refer to must not
// be read while another thread is inside begin(), backward() or step().
class Learner {
 public:
  Learner();
  ~Learner();
  Learner(Learner&&) noexcept;
  Learner& operator=(Learner&&) noexcept;

  // A trainable matrix or vector, copied from `initial`. Throws usage if the name is taken.
  Value parameter(const std::string& name, const Tensor& initial);

  void begin();  // forgets every intermediate

  // Intermediates. Matrices [rows, columns] unless said otherwise. A constant has no gradient; it is viewed,
  // and kept until the next begin().
  Value constant(const Tensor& value);
  Value embedding(Value table, std::span<const std::int32_t> ids);  // rows of table [n, d] → [ids, d]
  Value linear(Value x, Value weight, Value bias = nullptr);        // x [m, k] · weightᵀ [n, k] + bias [n]
  Value add(Value a, Value b);
  Value scale(Value x, float factor);
  Value relu(Value x);
  Value softmax(Value x);
  // Each row; gain, bias [columns], or nullptr for 1 and 0; ε = 1e-5.
  Value layer_norm(Value x, Value gain = nullptr, Value bias = nullptr);
  // Over one sequence: q [queries, d], k [keys, d], v [keys, e] → [queries, e], scaled by 1 / √(d / heads).
  // Head h works on columns h · d / heads onwards, and the heads' results stand side by side.
  Value attention(Value q, Value k, Value v, bool causal = false, std::int64_t heads = 1);

  // Losses: scalars, means over all elements (squared error) or over the rows whose target is not −100
  // (cross-entropy, as PyTorch has it; NaN where every target is −100). Throws usage where there is nothing
  // to compare.
  Value cross_entropy(Value logits, std::span<const std::int32_t> targets);
  Value squared_error(Value x, const Tensor& target);

  const Tensor& value(Value node) const;
  const Tensor& gradient(Value node) const;  // after backward(); undefined if nothing flowed there

  // Back-propagation from a scalar: gradients of parameters are those of this loss alone. Once for each
  // begin(): throws usage the second time.
  void backward(Value loss);
  // backward(), unless it was just called with this loss; then one AdamW step on every parameter. Returns the
  // loss. Throws numeric if it is not finite, usage for a learning rate that is negative or not finite.
  float step(Value loss, float learning_rate);

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace regard
