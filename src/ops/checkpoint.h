// Gradient checkpointing (Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost", 2016).
// The forward pass stores only the result of a function, such as a layer; the backward pass recomputes the
// intermediate values. Values and gradients stay bit-identical, because a random draw depends only on its key
// and counter (base/random.h).
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
    const std::uint64_t pass = tape.pass();
    tape.set_pass(node.pass);
    Tape::Segment segment(tape);
    segment.backward(node.part(tape), node.out);
    tape.set_pass(pass);
  }
};

// Return part(tape). If Options::checkpoint is set, discard the intermediate values and call `part` again in
// the backward pass; a probe, Options::keep or an enclosing checkpoint disables this. `part` must not change
// existing variables, and the objects to which it refers must exist until the backward pass.
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
