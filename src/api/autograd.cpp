#include "regard/autograd.h"

#include <cmath>
#include <deque>
#include <vector>

#include "api/pool.h"
#include "kernels/rows.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/attention.h"
#include "ops/cross_entropy.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/ragged.h"
#include "ops/scale.h"
#include "ops/softmax.h"
#include "ops/sum.h"
#include "ops/tape.h"
#include "regard/error.h"

namespace regard {
namespace {

struct Trained {
  Parameter parameter;
  Tensor first, second;  // AdamW's moments
};

}  // namespace

struct Learner::State {
  State() : tape(api::pool(), arena) { tape.begin({.record = true, .training = true, .keep = true}); }

  Arena arena;
  Tape tape;
  std::deque<Trained> trained;                // addresses stay
  std::deque<std::vector<std::int32_t>> ids;  // kept until the next begin()
  std::deque<RaggedBuffer> shapes;
  int steps = 0;

  std::span<const std::int32_t> keep(std::span<const std::int32_t> values) {
    return ids.emplace_back(values.begin(), values.end());
  }
  Ragged one_sequence(std::int64_t length) {
    RaggedBuffer& buffer = shapes.emplace_back();
    buffer.add(length, 0);
    return buffer.view();
  }
};

Learner::Learner() : state_(std::make_unique<State>()) {}
Learner::~Learner() = default;
Learner::Learner(Learner&&) noexcept = default;
Learner& Learner::operator=(Learner&&) noexcept = default;

Value Learner::parameter(const std::string& name, const Tensor& initial) {
  for (const Trained& other : state_->trained)
    if (other.parameter.name == name) throw usage_error("there is a parameter called '" + name + "' already");
  Trained& trained = state_->trained.emplace_back();
  trained.parameter.name = name;
  trained.parameter.variable.value = initial.clone();
  trained.parameter.set_trainable(true);
  trained.first = Tensor::zeros(initial.shape());
  trained.second = Tensor::zeros(initial.shape());
  return &trained.parameter.variable;
}

void Learner::begin() {
  state_->tape.begin({.record = true, .training = true, .keep = true});
  state_->ids.clear();
  state_->shapes.clear();
}

Value Learner::constant(const Tensor& value) {
  return state_->tape.constant(value);
}

Value Learner::embedding(Value table, std::span<const std::int32_t> ids) {
  return ops::embedding(state_->tape, table, state_->keep(ids));
}

Value Learner::linear(Value x, Value weight, Value bias) {
  return ops::linear(state_->tape, x, weight, bias);
}

Value Learner::add(Value a, Value b) {
  return ops::add(state_->tape, a, b);
}

Value Learner::scale(Value x, float factor) {
  return ops::scale(state_->tape, x, factor);
}

Value Learner::relu(Value x) {
  return ops::activate(state_->tape, x, kernels::Activation::relu);
}

Value Learner::softmax(Value x) {
  return ops::softmax(state_->tape, x);
}

Value Learner::layer_norm(Value x, Value gain, Value bias) {
  return ops::norm(state_->tape, x, gain, bias);
}

Value Learner::attention(Value q, Value k, Value v, bool causal, std::int64_t heads) {
  if (heads < 1 || q->value.columns() % heads != 0 || v->value.columns() % heads != 0)
    throw usage_error("attention: the heads must divide the columns")
        .found(std::to_string(heads) + " heads of " + q->value.shape().text());
  ops::AttentionOptions options;
  options.heads = options.kv_heads = heads;
  options.head_dim = q->value.columns() / heads;
  options.value_dim = v->value.columns() / heads;
  options.causal = causal;
  return ops::attention(state_->tape, {q}, {k}, {v}, state_->one_sequence(q->value.rows()),
                        state_->one_sequence(k->value.rows()), options);
}

Value Learner::cross_entropy(Value logits, std::span<const std::int32_t> targets) {
  if (targets.empty()) throw usage_error("cross_entropy: no targets");
  ops::CrossEntropyOptions options;
  options.factor = 1.0f / static_cast<float>(targets.size());
  return ops::cross_entropy(state_->tape, logits, state_->keep(targets), options);
}

Value Learner::squared_error(Value x, const Tensor& target) {
  Tape& tape = state_->tape;
  const Var difference = ops::add(tape, x, ops::scale(tape, tape.constant(target), -1.0f));
  const Var squares = ops::multiply(tape, difference, difference);
  return ops::sum(tape, squares, 1.0f / static_cast<float>(squares->value.elements()));
}

const Tensor& Learner::value(Value node) const {
  return node->value;
}

const Tensor& Learner::gradient(Value node) const {
  return node->gradient;
}

void Learner::backward(Value loss) {
  if (loss->value.elements() != 1)
    throw usage_error("backward starts from a scalar").found(loss->value.shape().text());
  for (Trained& trained : state_->trained) trained.parameter.clear_gradient();
  state_->tape.backward(loss);
}

float Learner::step(Value loss, float learning_rate) {
  backward(loss);
  const float value = loss->value.f32()[0];
  if (!std::isfinite(value)) throw Error(ErrorKind::numeric, "the loss is not finite");
  ++state_->steps;
  constexpr float kBeta1 = 0.9f, kBeta2 = 0.999f;
  const auto correction = [&](float beta) {
    return 1.0f - std::pow(beta, static_cast<float>(state_->steps));
  };
  const kernels::AdamW step{learning_rate,     kBeta1, kBeta2, 1e-8f, 0.0f, 1.0f, correction(kBeta1),
                            correction(kBeta2)};
  for (Trained& trained : state_->trained) {
    const Tensor& weight = trained.parameter.value();
    kernels::adamw(api::pool(), step, weight.f32(), trained.parameter.gradient().f32(), trained.first.f32(),
                   trained.second.f32(), weight.elements());
  }
  return value;
}

}  // namespace regard
