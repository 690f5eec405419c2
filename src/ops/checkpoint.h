// Gradient checkpointing (Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost", 2016):
// only the result of a part of the forward pass is stored, without its intermediate values. The backward pass
// computes the part again and then runs its backward functions. Random draws depend only on names and
// positions (base/random.h), so values and gradients are bit-identical with and without checkpointing.
#pragma once

#include <type_traits>

#include "base/namespaces.h"
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

// Return part(tape). If Options::checkpoint is set and no probe observes the part's intermediate values, they
// are not kept, and the backward pass calls `part` a second time. Objects to which `part` refers must exist
// until then. `part` must not change variables that were made before it.
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
