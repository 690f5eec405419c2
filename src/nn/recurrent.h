// A stack of recurrent layers: torch.nn.RNN, LSTM or GRU with PyTorch's parameter names.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "nn/preparation.h"
#include "ops/dropout.h"
#include "ops/parameter.h"
#include "ops/recurrence.h"

namespace regard::nn {

struct RecurrentConfig {
  kernels::Cell cell = kernels::Cell::tanh;
  std::int64_t input = 0, hidden = 0;  // hidden: size of one direction
  std::int64_t layers = 1;
  bool bidirectional = false;
  float dropout = 0.0f;  // dropout between the layers
  // index of the first layer, for the names of probe points and for the random numbers of dropout
  std::int64_t first_layer = 0;
};

// The states of a unidirectional stack of recurrent layers. Each span has one element per layer.
struct RecurrentStates {
  // initial states (see ops::RecurrenceOptions::initial); empty means zeros
  std::span<const Var> initial = {};
  std::span<ops::Recurrence> after = {};  // states after each token, set by forward(); empty if not needed
};

class Recurrent {
 public:
  // Weights: PREFIXweight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, the same with _reverse, then l1, ….
  // `point`, such as "encoder", is the prefix of probe points and random draws. forward() reports hidden
  // states as POINT.LAYER.residual; if `point` is empty, it reports nothing.
  Recurrent(const std::string& prefix, const std::string& point, const RecurrentConfig& config);

  // Return [tokens, out()] for x [tokens, input]: the forward features, then the backward features.
  Var forward(Tape& tape, Var x, const Ragged& shape, const RecurrentStates& states = {}) const;
  std::int64_t out() const { return config_.hidden * (config_.bidirectional ? 2 : 1); }
  // Return the number of floats in the state of one layer and direction.
  std::int64_t state_size() const { return config_.hidden * (config_.cell == kernels::Cell::lstm ? 2 : 1); }

  void collect(std::vector<Parameter*>& parameters) const;
  void prepare_for_inference(const Preparation& how) const;

 private:
  struct Direction {
    Parameter weight_ih, weight_hh, bias_ih, bias_hh;
    // packed weights; discarded when a tape records gradients
    mutable kernels::PackedMatrix packed_ih, packed_hh;
  };
  ops::Recurrence run(Tape& tape, Direction& direction, Var x, const Ragged& shape, Var initial,
                      bool reverse) const;

  RecurrentConfig config_;
  std::string point_;
  // directions ordered by layer, forward before backward
  std::vector<std::unique_ptr<Direction>> directions_;
};

// Return a copy of x with dropout applied, or x itself if dropout is inactive. Unlike ops::dropout(), this
// does not modify x, because the backward pass of the operation that produced x may need its value.
Var dropped_copy(Tape& tape, Var x, const Ragged& shape, const ops::DropoutOptions& options);

}  // namespace regard::nn
