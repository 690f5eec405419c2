// The decoder of regard-rnn-search: a recurrent network whose initial state is computed from the source.
// With attention, it reads a weighted mean of the source's states at each token.
#pragma once

#include <memory>
#include <vector>

#include "base/namespaces.h"
#include "models/sequence_config.h"
#include "nn/linear.h"
#include "nn/recurrent.h"

namespace regard::models {

// The states and projections of the source that the decoder reads.
struct SearchSource {
  Var keys = nullptr;    // [source tokens, hidden]: keys U_a h + b; additive attention only
  Var values = nullptr;  // [source tokens, hidden]: the encoder's states; null without attention
  Ragged shape;
};

// The equations of each kind of attention, for the input token y, its embedding E y, the state s and the
// encoder's states h:
//   none            s' = cell(E y, s)                                          (Sutskever et al. 2014)
//   additive        c = Σ softmax(v · tanh(W_a s + U_a h)) h; s' = cell([E y; c], s)
//                   readout = tanh(W [s'; c; E y] + b); tanh replaces maxout     (Bahdanau et al. 2015)
//   multiplicative  s' = cell(E y, s); c = Σ softmax(s' W_a h) h
//                   readout = tanh(W [c; s'] + b)            ("general", Luong et al. 2015)
// Further layers read the states of the layer below. The initial state of each layer is tanh(W h + b), where
// h is the encoder's last state (if bidirectional, the last forward and the first backward state).
class SearchDecoder {
 public:
  explicit SearchDecoder(const SequenceConfig& config);

  // Return the initial state of each layer, [sequences, state_size()]. Throws invalid_input for a source
  // without tokens.
  std::vector<Var> first_states(Tape& tape, Var encoded, const Ragged& shape) const;
  SearchSource source(Tape& tape, Var encoded, const Ragged& shape) const;
  // Return the readout [tokens, hidden] for x [tokens, embedding]. Reports decoder.0.cross.weights to the
  // tape's probe.
  Var forward(Tape& tape, Var x, const Ragged& shape, const SearchSource& source,
              const nn::RecurrentStates& states) const;

  std::int64_t layers() const { return config_.layers; }
  std::int64_t state_size() const { return first_->state_size(); }
  bool attends() const { return config_.attention != SequenceConfig::Attention::none; }
  bool has_keys() const { return config_.attention == SequenceConfig::Attention::additive; }

  void collect(std::vector<Parameter*>& parameters) const;
  void prepare_for_inference(const nn::Preparation& how) const;

 private:
  struct Attended {
    Var states = nullptr, context = nullptr;  // [tokens, hidden]
  };
  Attended attend_by_step(Tape& tape, Var x, const Ragged& shape, const SearchSource& source, Var initial,
                          ops::Recurrence& after) const;
  Var attend_at_once(Tape& tape, Var states, const Ragged& shape, const SearchSource& source) const;
  std::vector<nn::Linear*> linears() const;

  SequenceConfig config_;
  std::unique_ptr<nn::Recurrent> first_,
      // With additive attention, first_ is layer 0 and upper_ has the other layers. Otherwise first_ has all
      // layers and upper_ is null.
      upper_;
  // linear layers of the equations above this class; null if the kind of attention does not use them
  std::unique_ptr<nn::Linear> bridge_, query_, key_, readout_;
  std::unique_ptr<Parameter> score_;  // the vector v; additive attention only
};

}  // namespace regard::models
