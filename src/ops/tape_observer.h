// TapeObserver: observes the tapes of a thread and reports when the gradient of a weight is final, so that
// the gradient can be sent during the backward pass. The backward pass runs the nodes in reverse order, so a
// gradient is final as soon as the earliest recorded node that uses the weight has run.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <unordered_map>

#include "base/namespaces.h"
#include "ops/parameter.h"
#include "ops/tape.h"

namespace regard::ops {

class TapeObserver {
 public:
  // Observe one forward pass and its backward pass on the tapes of this thread, until the object is
  // destroyed; create the object after Tape::begin(). A thread has at most one observer at a time.
  TapeObserver();
  virtual ~TapeObserver();
  TapeObserver(const TapeObserver&) = delete;
  TapeObserver& operator=(const TapeObserver&) = delete;

  // Track the uses of a weight. Call this function before the forward pass.
  void track(Parameter& weight);
  // Return true if the backward pass will not write the gradient of the tracked weight again; always false
  // for a weight that no operation uses. A write to a final gradient throws std::logic_error.
  bool is_final(const Parameter& weight) const;

 protected:
  // Called before each operation that may record a node, and after the backward function of each node. It
  // must not compute with the tape, but may throw to abandon the pass.
  virtual void between_operations() {}

 private:
  friend class Tape;
  static constexpr std::int64_t kUnused = -1;
  static TapeObserver* current();
  void before_operation(std::initializer_list<Var> inputs, const Tape::Node* last, bool in_segment);
  void count_nodes(const Tape::Node* last);
  void begin_segment(const Tape::Node* last);
  void begin_backward(const Tape::Node* last);
  void after_node(bool in_segment);
  void before_write(const Variable* variable) const;
  std::int64_t first_use(const Variable& variable) const;

  std::unordered_map<const Variable*, std::int64_t> uses_;  // index of the first node that uses the variable
  const Tape::Node* last_ = nullptr;                        // the last node counted
  // number of nodes recorded outside segments; during the backward pass, number of these nodes still to run
  std::int64_t nodes_ = 0;
  bool backward_ = false;
};

}  // namespace regard::ops
