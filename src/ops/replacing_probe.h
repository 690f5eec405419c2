// ReplacingProbe: a probe that replaces values before they are used. Values that do not depend on a replaced
// value are bit-identical to the values without this probe.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/namespaces.h"
#include "ops/probe.h"
#include "ops/ragged.h"
#include "ops/tape.h"

namespace regard::ops {

// The attention weights of one head for one sequence, before they are applied to the values.
struct ProbedWeights {
  std::int64_t sequence = 0, head = 0;  // sequence: index in the batch passed to begin()
  std::int64_t queries = 0, keys = 0;
  const std::uint8_t* allowed = nullptr;  // [queries, keys]: 1 where the query may attend to the key
  // attention weights [queries, keys] to be changed; elements where `allowed` is 0 are unused
  float* weights = nullptr;
  // [queries, keys], initially all 1; null if no gradients are recorded. The probe sets it to the derivative
  // of each changed weight with respect to the weight before the change.
  float* slope = nullptr;
};

// A probe that replaces values. Probe::see() receives each value after its replacement.
class ReplacingProbe : public Probe {
 public:
  // Called before the layers of a stack ("encoder", "decoder") are computed, with the shape of the stack's
  // batch. A model with two encoders first calls begin() with the name of the encoder ("text", "vision"),
  // because the probe points of both encoders have the same names.
  virtual void begin(std::string_view stack, const Ragged& shape) { (void)stack, (void)shape; }

  // Return a variable of the same shape to replace `value` [tokens, features], or `value` itself to keep it.
  // Called before wants(), for each value that is reported once for the whole batch, except query, key and
  // value.
  //
  // Two calls have a null value. Before layer N, the point is STACK.N.skip: if a variable [tokens, hidden] is
  // returned, it is the layer's output, and the layer is not computed. Before the attention at POINT, the
  // point is POINT.context.skip: if a variable [tokens, features of POINT.context] is returned, it is the
  // heads' output. Query, key, value and weights are then not computed. Both calls are made only in passes
  // without a key/value cache, because the cache would lack the layer's keys and values.
  virtual Var replace(Tape& tape, std::string_view point, Var value) {
    (void)tape, (void)point;
    return value;
  }

  // Return false if replace() never changes the value at this point. Operations then do not call replace()
  // there, and compute the value separately only if the probe requests it.
  virtual bool may_replace(std::string_view point) {
    (void)point;
    return true;
  }

  // Return true if replace_weights() must be called for this head of the attention at `point`
  // ("decoder.0.self"). The other heads stay bit-identical.
  virtual bool replaces_weights(std::string_view point, std::int64_t head) {
    (void)point, (void)head;
    return false;
  }
  virtual void replace_weights(std::string_view point, const ProbedWeights& weights) {
    (void)point, (void)weights;
  }
};

// Return the tape's probe if it replaces values, else null.
inline ReplacingProbe* replacing_probe(Tape& tape) {
  return tape.probe == nullptr ? nullptr : dynamic_cast<ReplacingProbe*>(tape.probe);
}

}  // namespace regard::ops
