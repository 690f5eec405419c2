// Capture: a probe that stores the selected values of one forward pass and multiplies the outputs of ablated
// heads by 0. Values that are not selected are neither computed nor copied, and storing values does not
// change the results of the pass.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "inspect/head.h"
#include "ops/attention_parameters.h"
#include "ops/probe.h"
#include "regard/tensor.h"

namespace regard::inspect {

// Values to store. An empty set of kinds, layers or heads selects all of them.
struct Selection {
  bool weights = true;
  std::set<Kind> kinds;
  std::set<std::int64_t> layers, heads;
  bool hidden_states = false;  // select the embedding, the state after each layer, and the final output
  bool values = false;         // select the query, key and value vectors of the selected layers
  bool parameters = false;     // select the parameters of the selected layers
  // Names of further probe points whose values are stored, or ends of such names: "encoder.0.residual",
  // "residual", "inner".
  std::set<std::string> activations = {};
  bool shapes = false;  // store the shape of every value of the pass

  bool wants(Kind kind, std::int64_t layer) const;
};

// The keys to which a query may attend, as in kernels::AttentionSpec. The decoder's self-attention is always
// causal.
struct KeyRange {
  bool causal = false;
  std::int64_t window = 0;
};

// The attention weights of one layer and one sequence: a tensor [selected heads, queries, keys].
struct LayerWeights {
  Kind kind = Kind::encoder;
  std::int64_t layer = 0;
  std::int64_t sequence = 0;
  std::vector<std::int64_t> heads;  // index of each selected head
  Tensor weights;
  KeyRange range = {};
};

// The query, key and value vectors of one layer, for a batch of one sequence.
struct LayerVectors {
  std::int64_t heads = 0;  // number of query heads; key and value may have fewer heads
  float scale = 0.0f;      // factor of the dot products of queries and keys
  Tensor query;            // [queries, heads × size]
  Tensor key, value;       // keys and values [keys, heads × size]
};

// Shape of the tensor at a probe point. `heads` is the number of attention heads if the tensor contains
// queries, and 0 for all other tensors.
struct PointShape {
  std::string point;
  Shape shape;
  std::int64_t heads = 0;
};

class Capture : public Probe, public ParametersProbe {
 public:
  explicit Capture(Selection selection, std::vector<Head> ablated = {});

  bool wants(std::string_view point) override;
  bool wants_head(std::string_view point, std::int64_t head) override;
  void see(std::string_view point, std::int64_t sequence, const Tensor& value) override;
  float head_scale(std::string_view point, std::int64_t head) override;
  bool wants_parameters(std::string_view point) override;
  void see_parameters(std::string_view point,
                      const std::shared_ptr<const AttentionParameters>& parameters) override;

  // attention weights of the selected layers, in the order in which they were computed
  const std::vector<LayerWeights>& weights() const { return weights_; }
  // Return weights() and remove them from the capture.
  std::vector<LayerWeights> take_weights() { return std::exchange(weights_, {}); }
  // Hidden states and selected activations [tokens, features] of the whole batch, by the name of their probe
  // point ("encoder.2.residual").
  const std::map<std::string, Tensor>& hidden_states() const { return hidden_states_; }

  // Return the shape of every value of the pass except attention weights, in the order of computation; empty
  // unless Selection::shapes is set.
  std::vector<PointShape> shapes() const;

  // Return the query, key and value vectors of a layer; null if they were not selected.
  const LayerVectors* vectors(Kind kind, std::int64_t layer) const;

  // Return the parameters of a layer; null if they were not selected. Valid while the model exists.
  const AttentionParameters* parameters(Kind kind, std::int64_t layer) const;

  // Call after the pass. Throws usage if the model lacks a selected or ablated layer or head, or a selected
  // activation. The error lists the available layers, heads or activations.
  void check() const;

 private:
  void check_head(const Head& head, const char* purpose) const;
  void check_activations() const;
  bool wants_vectors(std::string_view point) const;  // true if the value is stored in vectors_
  bool wants_state(std::string_view point) const;    // true if the value is stored in hidden_states_

  Selection selection_;
  std::set<Head> ablated_;
  std::map<std::pair<Kind, std::int64_t>, std::int64_t>
      heads_of_layer_;  // number of heads of each layer in the pass
  std::map<std::pair<Kind, std::int64_t>, std::set<std::int64_t>> shown_;  // selected heads of each layer
  std::vector<LayerWeights> weights_;
  std::map<std::pair<Kind, std::int64_t>, LayerVectors> vectors_;
  std::map<std::pair<Kind, std::int64_t>, std::shared_ptr<const AttentionParameters>> parameters_;
  std::map<std::pair<Kind, std::int64_t>, KeyRange> ranges_;
  std::map<std::string, Tensor> hidden_states_;
  std::vector<PointShape> shapes_;
  std::set<std::string> points_;  // names of all probe points of the pass except attention weights
};

}  // namespace regard::inspect
