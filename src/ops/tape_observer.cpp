#include "ops/tape_observer.h"

#include <algorithm>
#include <cassert>
#include <stdexcept>

namespace regard::ops {
namespace {

thread_local TapeObserver* observer = nullptr;

}  // namespace

TapeObserver::TapeObserver() {
  assert(observer == nullptr);
  observer = this;
}

TapeObserver::~TapeObserver() {
  observer = nullptr;
}

TapeObserver* TapeObserver::current() {
  return observer;
}

void TapeObserver::track(Parameter& weight) {
  uses_.emplace(&weight.variable, kUnused);
  if (weight.block != nullptr) uses_.emplace(&weight.block->variable, kUnused);
}

std::int64_t TapeObserver::first_use(const Variable& variable) const {
  const auto use = uses_.find(&variable);
  return use == uses_.end() ? kUnused : use->second;
}

bool TapeObserver::is_final(const Parameter& weight) const {
  if (!backward_) return false;
  const std::int64_t own = first_use(weight.variable);
  const std::int64_t block = weight.block == nullptr ? kUnused : first_use(weight.block->variable);
  const auto unfinished = [this](std::int64_t use) { return use != kUnused && use < nodes_; };
  return std::max(own, block) != kUnused && !unfinished(own) && !unfinished(block);
}

// If a weight is used within a segment, record the use for the node that follows the segment, because the
// backward function of this node runs the nodes of the segment.
void TapeObserver::before_operation(std::initializer_list<Var> inputs, const Tape::Node* last,
                                    bool in_segment) {
  if (!uses_.empty() && !backward_) {
    if (!in_segment) count_nodes(last);
    for (Var input : inputs) {
      const auto use = input == nullptr ? uses_.end() : uses_.find(input);
      if (use != uses_.end() && use->second == kUnused) use->second = nodes_;
    }
  }
  between_operations();
}

// Count the nodes that were recorded since the last call.
void TapeObserver::count_nodes(const Tape::Node* last) {
  for (const Tape::Node* node = last; node != last_; node = node->previous) ++nodes_;
  last_ = last;
}

void TapeObserver::begin_segment(const Tape::Node* last) {
  if (!uses_.empty() && !backward_) count_nodes(last);
}

void TapeObserver::begin_backward(const Tape::Node* last) {
  count_nodes(last);
  backward_ = true;
}

void TapeObserver::after_node(bool in_segment) {
  if (!in_segment) --nodes_;
  between_operations();
}

void TapeObserver::before_write(const Variable* variable) const {
  if (backward_ && first_use(*variable) >= nodes_)
    throw std::logic_error("an operation wrote the gradient of a weight after the gradient was final");
}

}  // namespace regard::ops
