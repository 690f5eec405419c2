// Probe: callback interface for the inspection of intermediate values. Only head_scale() changes results.
// Operations and modules call wants() with the name of each value, such as "encoder.3.self.weights",
// "decoder.0.cross.output" or "decoder.5.residual". If wants() returns true, they then call see().
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

  // Return true if the attention weights of head `head` at `point` ("encoder.3.self") are requested; the
  // weights of other heads are neither computed nor stored. Called for every head in order after wants()
  // returned true for the attention weights of the layer.
  virtual bool wants_head(std::string_view point, std::int64_t head) {
    (void)point, (void)head;
    return true;
  }

  // Receive the value at `point`. Attention weights [requested heads, queries, keys] are reported once per
  // sequence, in a tensor that owns its memory; other values [tokens, features] are reported once for the
  // whole batch, with `sequence` −1, and are valid only during the call.
  virtual void see(std::string_view point, std::int64_t sequence, const Tensor& value) = 0;

  // Return the factor by which the output of head `head` of the attention at `point` ("encoder.3.self") is
  // multiplied before the output projection. 0 ablates the head; 1 leaves the result bit-identical.
  virtual float head_scale(std::string_view point, std::int64_t head) {
    (void)point, (void)head;
    return 1.0f;
  }
};

}  // namespace regard::ops
