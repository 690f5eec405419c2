// Capture: a probe that keeps what was asked for of one pass, and nothing else. It is asked before anything
// is computed or copied, so looking costs what is looked at and changes no bit of the result; ablation
// (a head's output times 0) changes what it says it changes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "inspect/head.h"
#include "ops/probe.h"
#include "regard/tensor.h"

namespace regard::inspect {

// Empty sets mean all.
struct Selection {
  bool weights = true;
  std::set<Kind> kinds;
  std::set<std::int64_t> layers, heads;
  bool hidden_states = false;  // the states after each layer, before the first, and at the end

  bool wants(Kind kind, std::int64_t layer) const;
};

// One layer's weights of one sequence: [heads kept, queries, keys], and which heads they are.
struct LayerWeights {
  Kind kind = Kind::encoder;
  std::int64_t layer = 0;
  std::int64_t sequence = 0;
  std::vector<std::int64_t> heads;
  Tensor weights;
};

class Capture : public Probe {
 public:
  explicit Capture(Selection selection, std::vector<Head> ablated = {});

  bool wants(std::string_view point) override;
  void see(std::string_view point, std::int64_t sequence, const Tensor& value) override;
  float head_scale(std::string_view point, std::int64_t head) override;

  const std::vector<LayerWeights>& weights() const { return weights_; }  // in the order of the pass
  // [tokens, features] by point ("encoder.2.residual"), of the whole batch.
  const std::map<std::string, Tensor>& hidden_states() const { return hidden_states_; }

  // After the pass: throws usage if a layer or head was selected or ablated that the model does not have, and
  // says which it has.
  void check() const;

 private:
  void check_head(const Head& head, const char* purpose) const;

  Selection selection_;
  std::set<Head> ablated_;
  std::map<std::pair<Kind, std::int64_t>, std::int64_t> heads_of_layer_;  // of all that the model announced
  std::vector<LayerWeights> weights_;
  std::map<std::string, Tensor> hidden_states_;
};

}  // namespace regard::inspect
