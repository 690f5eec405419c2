#include "ops/tape.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "kernels/rows.h"
#include "ops/tape_observer.h"
#include "regard/error.h"

namespace regard::ops {

void Tape::begin(const Options& options) {
  arena_.reset();
  segment_.reset();
  pass_ = 0;
  options_ = options;
  last_ = nullptr;
  free_.clear();
}

Var Tape::constant(const Tensor& value) {
  return input(value, false);
}

Var Tape::input(const Tensor& value, bool needs_gradient) {
  return make(value.borrowed(), needs_gradient);
}

Var Tape::alias(Var other, bool needs_gradient) {
  return make(other->value, needs_gradient);
}

Var Tape::make(Shape shape, bool needs_gradient) {
  Var variable = make(arena().tensor(shape), needs_gradient);
  variable->owns_value = !in_segment_;
  return variable;
}

Var Tape::make(const Tensor& view, bool needs_gradient) {
  Var variable = arena().make<Variable>();
  variable->value = view;
  variable->needs_gradient = needs_gradient && options_.record;
  return variable;
}

Tape::Gradient Tape::gradient(Var variable) {
  if (!variable->needs_gradient) return {};
  if (const TapeObserver* observer = TapeObserver::current()) observer->before_write(variable);
  if (variable->gradient.data() == nullptr) {
    const Shape shape = variable->value.shape();
    variable->gradient = Tensor::view(take(shape.elements()), shape);
    variable->owns_gradient = true;
  }
  const bool started = variable->gradient_started;
  variable->gradient_started = true;
  return {variable->gradient.f32(), started};
}

Var Tape::consume(Var out) {
  if (!options_.keep || !out->needs_gradient) return out;
  Var copy = alias(out, true);
  const Gradient gradient = this->gradient(copy);
  std::copy_n(out->gradient.f32(), out->value.elements(), gradient.data);
  return copy;
}

void Tape::pass_gradient(Var from, Var to) {
  if (to == nullptr || !to->needs_gradient) return;
  if (!to->gradient_started && to->gradient.data() == nullptr) {
    to->gradient = from->gradient.reshape(to->value.shape());
    to->gradient_started = true;
    to->owns_gradient = from->owns_gradient;
    from->owns_gradient = false;
    return;
  }
  add_gradient(from, to);
}

void Tape::add_gradient(Var from, Var to) {
  if (to == nullptr) return;
  const Gradient target = gradient(to);
  if (target.data == nullptr) return;
  const std::int64_t count = to->value.elements();
  if (target.accumulate)
    kernels::axpy(pool_, 1.0f, from->gradient.f32(), target.data, count);
  else
    std::copy_n(from->gradient.f32(), count, target.data);
}

float* Tape::accumulated(Var variable) {
  if (variable == nullptr) return nullptr;
  const Gradient target = gradient(variable);
  if (target.data != nullptr && !target.accumulate)
    std::fill_n(target.data, variable->value.elements(), 0.0f);
  return target.data;
}

// Return a recycled block that is at most 25 % larger than requested, or new memory if there is none. The
// search starts at the last freed block, because it is most likely still in cache.
float* Tape::take(std::int64_t count) {
  for (std::size_t i = free_.size(); i-- > 0;) {
    const FreeBlock block = free_[i];
    if (block.count < count || block.count > count + count / 4) continue;
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
    return block.memory;
  }
  return arena_.tensor({count}).f32();
}

void Tape::recycle(float* memory, std::int64_t count) {
  constexpr std::int64_t kSmallest = 1024;  // minimum size, in floats, of memory that is kept for recycling
  if (memory == nullptr || count < kSmallest || options_.keep || segment_.contains(memory)) return;
  free_.push_back({memory, count});
}

void Tape::release(Var variable, Var kept) {
  if (variable == nullptr || variable == kept || options_.keep) return;
  if (variable->owns_gradient) recycle(variable->gradient.f32(), variable->gradient.elements());
  if (variable->owns_value)  // recycle() counts in floats, also for a bf16 value
    recycle(static_cast<float*>(variable->value.data()),
            static_cast<std::int64_t>(variable->value.bytes() / sizeof(float)));
  variable->owns_gradient = variable->owns_value = false;
}

bool Tape::wanted(std::initializer_list<Var> inputs) const {
  if (!options_.record) return false;
  if (TapeObserver* observer = TapeObserver::current())
    observer->before_operation(inputs, last_, in_segment_);
  return std::any_of(inputs.begin(), inputs.end(),
                     [](Var input) { return input != nullptr && input->needs_gradient; });
}

void Tape::backward(Var loss) {
  const auto turn = pool_.take_turn();  // lock the pool for the whole backward pass
  if (!loss->gradient_started) {
    const Gradient start = gradient(loss);
    if (start.data == nullptr) return;
    std::fill_n(start.data, loss->value.elements(), 1.0f);
  }
  if (TapeObserver* observer = TapeObserver::current()) observer->begin_backward(last_);
  run_nodes(loss);
}

void Tape::run_nodes(Var kept) {
  while (last_ != nullptr) {
    Node* const node = last_;
    node->run(*node, *this);
    release(node->out, kept);
    last_ = node->previous;
    if (TapeObserver* observer = TapeObserver::current()) observer->after_node(in_segment_);
  }
}

Tape::Segment::Segment(Tape& tape) : tape_(tape), before_(tape.last_) {
  assert(!tape.in_segment_);
  if (TapeObserver* observer = TapeObserver::current()) observer->begin_segment(tape.last_);
  tape.last_ = nullptr;
  tape_.in_segment_ = true;
}

Tape::Segment::~Segment() {
  tape_.segment_.rewind({});
  tape_.in_segment_ = false;
  tape_.last_ = before_;
}

Var Tape::Segment::kept(Var value) {
  tape_.in_segment_ = false;
  Var copy = tape_.make(value->value.shape(), value->needs_gradient);
  tape_.in_segment_ = true;
  std::copy_n(value->value.f32(), value->value.elements(), copy->value.f32());
  return copy;
}

void Tape::Segment::backward(Var from, Var out) {
  tape_.pass_gradient(out, from);
  tape_.run_nodes(nullptr);
}

}  // namespace regard::ops
