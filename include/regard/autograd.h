// Training of small models for experiments and tutorials: parameters, a tape of operations, back-propagation
// and AdamW. The tape uses the same operations as the training loop of whole models.
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

#include "regard/export.h"
#include "regard/tensor.h"

namespace regard {

namespace ops {
struct Variable;
}

// A node of the tape: a parameter (valid during the lifetime of the learner) or an intermediate value (valid
// until the next begin()).
using Value = ops::Variable*;

// Parameters and the tape of operations on them; all tensors are f32. Calls from several threads are
// serialised and share the tape. The tensors that value() and gradient() return must not be read while
// another thread is inside begin(), backward() or step(). Functions throw usage if shapes or dtypes do not
// match, a Value is null, or the Learner was moved from. A moved-from Learner can only be destroyed or
// assigned to.
class REGARD_API Learner {
 public:
  Learner();
  ~Learner();
  Learner(Learner&&) noexcept;
  Learner& operator=(Learner&&) noexcept;

  // Add a trainable matrix or vector, copied from `initial`. Throws usage if the name is taken.
  Value parameter(const std::string& name, const Tensor& initial);

  void begin();  // discard all intermediate values

  // The following functions compute intermediate values: matrices [rows, columns] unless stated otherwise.

  // A constant has no gradient; it shares the memory of `value` until the next begin().
  Value constant(const Tensor& value);
  Value embedding(Value table, std::span<const std::int32_t> ids);  // rows of table [n, d] → [ids, d]
  Value linear(Value x, Value weight, Value bias = nullptr);        // x [m, k] · weightᵀ [n, k] + bias [n]
  Value add(Value a, Value b);
  Value scale(Value x, float factor);
  Value relu(Value x);
  Value softmax(Value x);
  // Normalise each row, with ε = 1e-5. `gain` and `bias` are [columns]; nullptr means gain 1 and bias 0.
  Value layer_norm(Value x, Value gain = nullptr, Value bias = nullptr);
  // Attention within one sequence: q [queries, d], k [keys, d], v [keys, e] → [queries, e], scaled by 1 /
  // √(d / heads). Head h uses columns h · d / heads to (h + 1) · d / heads; the outputs of the heads are
  // concatenated by columns.
  Value attention(Value q, Value k, Value v, bool causal = false, std::int64_t heads = 1);

  // Losses; the result is a scalar. squared_error() is the mean over all elements. cross_entropy() is the
  // mean over the rows whose target is not −100, as in PyTorch; it is NaN if every target is −100. Throws
  // usage if there are no targets. Throws invalid_input if a target other than −100 is not a column index of
  // the logits.
  Value cross_entropy(Value logits, std::span<const std::int32_t> targets);
  Value squared_error(Value x, const Tensor& target);

  const Tensor& value(Value node) const;
  // Return the gradient of the loss with respect to `node`; valid after backward(). If the loss does not
  // depend on the node, the gradient is zero for a parameter and an undefined tensor for any other node.
  const Tensor& gradient(Value node) const;

  // Set the gradients of the parameters to zero, then back-propagate from a scalar loss. May be called once
  // after each begin(); a second call throws usage. If it throws, for example because memory is short, the
  // gradients of the parameters are zero, and step() throws until the next begin().
  void backward(Value loss);
  // Take one AdamW step (β 0.9 and 0.999, ε 1e-8, no weight decay) on every parameter, and return the loss.
  // Calls backward() first, unless the last backward() since begin() was called with this loss. Throws
  // numeric if the loss is not finite, usage if the learning rate is negative or not finite.
  float step(Value loss, float learning_rate);

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace regard
