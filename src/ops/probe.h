// Probe: how inspection listens without changing anything. Ops and modules announce values at named points
// ("encoder.3.self.weights", "decoder.0.cross.output", "decoder.5.residual"); a probe is first asked whether
// it wants one, then given it. A null probe costs one branch.
#pragma once

#include <cstdint>
#include <string_view>

#include "regard/tensor.h"

namespace regard {

class Probe {
 public:
  virtual ~Probe() = default;

  // Whether `point` is wanted. Weights are computed only if it is.
  virtual bool wants(std::string_view point) = 0;

  // The value at `point`, valid during the call only. Weights: one call per sequence, [heads, queries, keys].
  // Everything else: one call for the whole batch, [tokens, features], and sequence is −1.
  virtual void see(std::string_view point, std::int64_t sequence, const Tensor& value) = 0;

  // What to multiply the output of head `head` of the attention at `point` ("encoder.3.self") with, before
  // the heads are joined by the output projection (ablation: 0). 1 leaves every bit as it was.
  virtual float head_scale(std::string_view point, std::int64_t head) {
    (void)point, (void)head;
    return 1.0f;
  }
};

}  // namespace regard
