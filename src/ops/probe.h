// Probe: callback interface for inspection. Operations and modules report values at named points
// ("encoder.3.self.weights", "decoder.0.cross.output", "decoder.5.residual"): they call wants() and, if it
// returns true, see(). Observing does not change results. A null probe costs one branch.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/namespaces.h"
#include "regard/tensor.h"

namespace regard::ops {

class Probe {
 public:
  virtual ~Probe() = default;

  // Return true to request the value at `point`. Attention weights are computed only if they are requested.
  virtual bool wants(std::string_view point) = 0;

  // Return true if the attention weights of head `head` at `point` ("encoder.3.self") are requested. Called
  // for every head in order after wants() returned true for the attention weights of the layer. The attention
  // weights of other heads are neither computed nor stored.
  virtual bool wants_head(std::string_view point, std::int64_t head) {
    (void)point, (void)head;
    return true;
  }

  // Receive the value at `point`. Attention weights [requested heads, queries, keys] are reported once per
  // sequence; their tensor owns its memory and may be kept. Other values [tokens, features] are reported once
  // for the whole batch, with `sequence` −1, and are valid only during the call.
  virtual void see(std::string_view point, std::int64_t sequence, const Tensor& value) = 0;

  // Return the factor by which the output of head `head` of the attention at `point` ("encoder.3.self") is
  // multiplied before the output projection. 0 ablates the head; 1 leaves the result bit-identical.
  virtual float head_scale(std::string_view point, std::int64_t head) {
    (void)point, (void)head;
    return 1.0f;
  }
};

}  // namespace regard::ops
