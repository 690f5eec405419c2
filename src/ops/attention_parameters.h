// Interfaces for probes that inspect the parameters of attention layers, head by head.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/namespaces.h"
#include "base/thread_pool.h"
#include "regard/tensor.h"

namespace regard::ops {

// Linear projection y = x weight + bias.
struct Projection {
  Tensor weight;  // [in, out]
  Tensor bias;    // [out]; undefined if there is no bias
};

struct HeadParameters {
  // Projections of one head, with weights [hidden, head size]. In cross-attention, the weights of key and
  // value have the hidden size of the encoder. In grouped-query attention, several heads share the
  // projections of key and value.
  Projection query, key, value;
  Projection output;  // rows of W_O for this head [value size, hidden], and the bias of the layer
};

class AttentionParameters {
 public:
  virtual ~AttentionParameters() = default;
  virtual float scale() const = 0;  // factor of the products of queries and keys
  // the members of kernels::AttentionSpec that determine the keys to which a query may attend
  virtual bool causal() const = 0;
  virtual std::int64_t window() const = 0;
  // Return the number of elements of the weights that of_head() returns, without biases.
  virtual std::int64_t weights_of_head() const = 0;
  // Return copies of the parameters of head `head` in f32, with low-rank updates added. Call this only while
  // the model exists and no forward or backward pass runs.
  virtual HeadParameters of_head(ThreadPool& pool, std::int64_t head) const = 0;
};

// Interface of a probe that requests parameters of attention layers. During a forward pass, each attention
// layer calls wants_parameters() with the name of its probe point ("encoder.3.self") and, if it returns true,
// see_parameters().
class ParametersProbe {
 public:
  virtual ~ParametersProbe() = default;
  // Return true if the probe requests the parameters of the attention layer at the probe point `point`.
  virtual bool wants_parameters(std::string_view point) = 0;
  virtual void see_parameters(std::string_view point,
                              const std::shared_ptr<const AttentionParameters>& parameters) = 0;
};

}  // namespace regard::ops
