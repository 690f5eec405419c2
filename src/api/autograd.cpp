#include "regard/autograd.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "api/check.h"
#include "api/pool.h"
#include "kernels/rows.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/attention.h"
#include "ops/check.h"
#include "ops/cross_entropy.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/multiply.h"
#include "ops/norm.h"
#include "ops/parameter.h"
#include "ops/ragged.h"
#include "ops/scale.h"
#include "ops/softmax.h"
#include "ops/sum.h"
#include "ops/tape.h"
#include "regard/error.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

struct Trained {
  Parameter parameter;
  Tensor first, second;  // moving averages of AdamW
};

}  // namespace

struct REGARD_HIDDEN Learner::State {
  State() : pool(api::pool()), tape(*pool, arena) {
    tape.begin({.record = true, .training = true, .keep = true});
  }

  std::mutex calls;  // mutex that serialises the calls of all functions
  std::shared_ptr<ThreadPool> pool;
  Arena arena;
  Tape tape;
  // trained parameters; a deque, because its elements must not move when it grows
  std::deque<Trained> trained;
  std::deque<std::vector<std::int32_t>> ids;  // token ids of embeddings, kept until the next begin()
  std::deque<RaggedBuffer> shapes;
  std::deque<Tensor> constants;
  Value walked = nullptr;  // loss passed to backward() since begin(); null if backward() was not called
  bool complete = false;   // true if this call of backward() returned without an error
  int steps = 0;

  std::span<const std::int32_t> keep(std::span<const std::int32_t> values) {
    return ids.emplace_back(values.begin(), values.end());
  }
  static Variable& checked(Value node) {
    if (node == nullptr) throw usage_error("the Value is null").expected("a Value returned by this learner");
    return *node;
  }
  Ragged one_sequence(std::int64_t length) {
    RaggedBuffer& buffer = shapes.emplace_back();
    buffer.add(length, 0);
    return buffer.view();
  }
  void backward(Value loss) {
    if (walked != nullptr)
      throw usage_error(complete ? "backward() was called twice since begin()"
                                 : "backward() has failed since begin()")
          .remedy("Call begin() and compute the loss again");
    if (checked(loss).value.elements() != 1)
      throw usage_error("the loss of backward() is not a scalar")
          .found(loss->value.shape().text())
          .expected("a tensor of one element");
    clear_gradients();
    walked = loss, complete = false;
    try {
      tape.backward(loss);
    } catch (...) {
      clear_gradients();
      throw;
    }
    complete = true;
  }
  void clear_gradients() {
    for (Trained& one : trained) one.parameter.clear_gradient();
  }
};

Learner::Learner() : state_(std::make_unique<State>()) {}
Learner::~Learner() = default;
Learner::Learner(Learner&&) noexcept = default;
Learner& Learner::operator=(Learner&&) noexcept = default;

Learner::State& Learner::state() const {
  return api::state_of(state_, "Learner");
}

Value Learner::parameter(const std::string& name, const Tensor& initial) {
  const std::lock_guard lock(state().calls);
  api::require_f32("parameter", "its initial value", initial);
  for (const Trained& other : state().trained)
    if (other.parameter.name == name)
      throw usage_error("two parameters have the same name")
          .found("'" + name + "'")
          .remedy("Give each parameter its own name");
  Trained& trained = state().trained.emplace_back();
  trained.parameter.name = name;
  trained.parameter.variable.value = initial.clone();
  trained.parameter.set_trainable(true);
  trained.first = Tensor::zeros(initial.shape());
  trained.second = Tensor::zeros(initial.shape());
  return &trained.parameter.variable;
}

void Learner::begin() {
  State& state = this->state();
  const std::lock_guard lock(state.calls);
  state.tape.begin({.record = true, .training = true, .keep = true});
  state.ids.clear();
  state.shapes.clear();
  state.constants.clear();
  state.walked = nullptr;
}

Value Learner::constant(const Tensor& value) {
  const std::lock_guard lock(state().calls);
  api::require_f32("constant", "the value", value);
  return state().tape.constant(state().constants.emplace_back(value));
}

Value Learner::embedding(Value table, std::span<const std::int32_t> ids) {
  const std::lock_guard lock(state().calls);
  return ops::embedding(state().tape, table, state().keep(ids));
}

Value Learner::linear(Value x, Value weight, Value bias) {
  const std::lock_guard lock(state().calls);
  return ops::linear(state().tape, x, weight, bias);
}

Value Learner::add(Value a, Value b) {
  const std::lock_guard lock(state().calls);
  return ops::add(state().tape, a, b);
}

Value Learner::scale(Value x, float factor) {
  const std::lock_guard lock(state().calls);
  return ops::scale(state().tape, x, factor);
}

Value Learner::relu(Value x) {
  const std::lock_guard lock(state().calls);
  return ops::activate(state().tape, x, kernels::Activation::relu);
}

Value Learner::softmax(Value x) {
  const std::lock_guard lock(state().calls);
  return ops::softmax(state().tape, x);
}

Value Learner::layer_norm(Value x, Value gain, Value bias) {
  const std::lock_guard lock(state().calls);
  return ops::norm(state().tape, x, gain, bias);
}

Value Learner::attention(Value q, Value k, Value v, bool causal, std::int64_t heads) {
  const std::lock_guard lock(state().calls);
  for (const auto& [name, x] : {std::pair{"query", q}, {"key", k}, {"value", v}})
    ops::require_matrix("attention", name, x);
  if (k->value.columns() != q->value.columns())
    throw ops::shape_error("attention", "queries and keys differ in their number of columns",
                           {{"query", q}, {"key", k}});
  if (heads < 1 || q->value.columns() % heads != 0 || v->value.columns() % heads != 0)
    throw usage_error("attention: the columns of query or value are not a multiple of the number of heads")
        .found("query " + q->value.shape().text() + ", value " + v->value.shape().text())
        .expected(heads < 1 ? "at least 1 head" : "columns in multiples of " + std::to_string(heads));
  ops::AttentionOptions options;
  options.heads = options.kv_heads = heads;
  options.head_dim = q->value.columns() / heads;
  options.value_dim = v->value.columns() / heads;
  options.causal = causal;
  return ops::attention(state().tape, {q}, {k}, {v}, state().one_sequence(q->value.rows()),
                        state().one_sequence(k->value.rows()), options);
}

Value Learner::cross_entropy(Value logits, std::span<const std::int32_t> targets) {
  const std::lock_guard lock(state().calls);
  if (targets.empty()) throw usage_error("cross_entropy: expected at least one target, found none");
  ops::CrossEntropyOptions options;
  options.factor =
      1.0f / static_cast<float>(std::ssize(targets) - std::ranges::count(targets, options.ignored));
  return ops::cross_entropy(state().tape, logits, state().keep(targets), options);
}

Value Learner::squared_error(Value x, const Tensor& target) {
  const std::lock_guard lock(state().calls);
  Tape& tape = state().tape;
  api::require_f32("squared_error", "the target", target);
  if (target.elements() == 0) throw usage_error("squared_error: expected at least one target, found none");
  Var difference = ops::add(tape, x, ops::scale(tape, tape.constant(target), -1.0f));
  Var squares = ops::multiply(tape, difference, difference);
  return ops::sum(tape, squares, 1.0f / static_cast<float>(squares->value.elements()));
}

const Tensor& Learner::value(Value node) const {
  return state().checked(node).value;
}

const Tensor& Learner::gradient(Value node) const {
  return state().checked(node).gradient;
}

void Learner::backward(Value loss) {
  State& state = this->state();
  const std::lock_guard lock(state.calls);
  state.backward(loss);
}

float Learner::step(Value loss, float learning_rate) {
  api::require_number("step", "the learning rate", static_cast<double>(learning_rate), 0.0);
  State& state = this->state();
  const std::lock_guard lock(state.calls);
  if (state.walked != loss || !state.complete) state.backward(loss);
  const float value = loss->value.f32()[0];
  if (!std::isfinite(value))
    throw Error(ErrorKind::numeric, "the loss is not finite")
        .found(std::to_string(value))
        .remedy("Check the inputs for NaN and infinity, or lower the learning rate");
  ++state.steps;
  constexpr float kBeta1 = 0.9f, kBeta2 = 0.999f;
  const auto correction = [&](float beta) { return 1.0f - std::pow(beta, static_cast<float>(state.steps)); };
  const kernels::AdamW step{learning_rate,     kBeta1, kBeta2, 1e-8f, 0.0f, 1.0f, correction(kBeta1),
                            correction(kBeta2)};
  for (Trained& trained : state.trained) {
    const Tensor& weight = trained.parameter.value();
    kernels::adamw(*state.pool, step, weight.f32(), trained.parameter.gradient().f32(), trained.first.f32(),
                   trained.second.f32(), weight.elements());
  }
  return value;
}

}  // namespace regard
