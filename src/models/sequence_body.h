// The layers of a network without attention, between its embedding and its head.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "models/sequence_config.h"
#include "nn/recurrent.h"

namespace regard::models {

class SequenceBody {
 public:
  virtual ~SequenceBody() = default;
  // Return [tokens, out()] for x [tokens, embedding]. `states` is for recurrent networks only.
  virtual Var forward(Tape& tape, Var x, const Ragged& shape, const nn::RecurrentStates& states) const = 0;
  virtual std::int64_t out() const = 0;
  // size of the state of one layer; 0 if there is no state
  virtual std::int64_t state_size() const { return 0; }
  virtual void collect(std::vector<Parameter*>& parameters) const = 0;
  virtual void prepare_for_inference(const nn::Preparation& how) const = 0;
};

// Create the layers for `point`, "encoder" or "decoder". Weight names are those of nn::Recurrent with the
// prefix "rnn." or, in convolutional networks, convolutions.LAYER.WIDTH.weight [hidden, in, width] and .bias.
std::unique_ptr<SequenceBody> make_sequence_body(const SequenceConfig& config, const std::string& point);

}  // namespace regard::models
