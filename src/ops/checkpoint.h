// Gradient checkpointing (Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost", 2016):
// only the result of a part of the forward pass is kept. The backward pass computes this part again and then
// runs its backward functions. Random draws depend on names and positions only (base/random.h), so values
// and gradients have the same bits as without it.
#pragma once

#include <type_traits>

#include "ops/tape.h"

namespace regard::ops {

template <class Part>
struct CheckpointNode : Tape::Node {
  Part part;
  std::uint64_t pass = 0;
  static void backward(CheckpointNode& node, Tape& tape) {
    if (!node.out->gradient_started) return;
    const std::uint64_t pass = tape.pass();
    tape.set_pass(node.pass);
    Tape::Segment segment(tape);
    segment.backward(node.part(tape), node.out);
    tape.set_pass(pass);
  }
};

// Return part(tape), without keeping its intermediate values if Options::checkpoint is set and nothing
// observes them. `part` is called a second time in the backward pass. Objects that it refers to must exist
// until then, and it must not change variables made before it.
template <class Part>
Var checkpointed(Tape& tape, const Part& part) {
  static_assert(std::is_trivially_destructible_v<Part>);
  const Tape::Options& options = tape.options();
  if (!options.record || !options.checkpoint || options.keep || tape.probe != nullptr || tape.in_segment())
    return part(tape);
  Var out = nullptr;
  {
    Tape::Segment segment(tape);
    out = segment.kept(part(tape));
  }
  if (!out->needs_gradient) return out;
  CheckpointNode<Part> node{{}, part, tape.pass()};
  node.out = out;
  tape.record(node);
  return out;
}

}  // namespace regard::ops
