// The parts that make_network() puts together: what leads to the first layer, the layers of one side, and
// what stands on top.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/architecture.h"

namespace regard {

// Token tables by name: those of one name are one weight, in the order in which they were first asked for.
class TokenTables {
 public:
  nn::Embedding& table(const std::string& name, std::int64_t count, std::int64_t size,
                       Initialisation initial);
  nn::Embedding* find(const std::string& name) const;  // null: no such table
  void collect(std::vector<Parameter*>& parameters) const;

 private:
  std::vector<std::pair<std::string, std::unique_ptr<nn::Embedding>>> tables_;
};

// From what a side reads to the first layer's input [tokens, hidden].
class Front {
 public:
  virtual ~Front() = default;
  virtual Var forward(Tape& tape, const TokenBatch& batch) const = 0;
  virtual void collect(std::vector<Parameter*>& parameters) const = 0;  // but token tables
  virtual void prepare_for_inference(const nn::Preparation& how) const = 0;
};

std::unique_ptr<Front> make_token_front(const FrontConfig& config, std::int64_t hidden, TokenTables& tables);
std::unique_ptr<Front> make_patch_front(const FrontConfig& config, std::int64_t hidden);

class Stack {
 public:
  Stack(const StackConfig& config, std::int64_t hidden, std::unique_ptr<Front> front);

  Var forward(Tape& tape, const TokenBatch& batch, const Memory* memory, Cache* cache) const;
  void collect(std::vector<Parameter*>& parameters) const;
  void prepare_for_inference(const nn::Preparation& how) const;

 private:
  std::string point_;
  ops::DropoutOptions dropout_, output_dropout_;
  std::unique_ptr<Front> front_;
  std::unique_ptr<nn::RotaryPositions> rotary_;
  std::unique_ptr<nn::RelativeBias> relative_bias_;
  std::vector<std::unique_ptr<nn::Block>> blocks_;
  std::unique_ptr<nn::Norm> norm_;
};

class Head {
 public:
  // The projection is the token table of its name where there is one.
  Head(const HeadConfig& config, std::int64_t hidden, const TokenTables& tables);

  const HeadConfig& config() const { return config_; }
  Var forward(Tape& tape, Var hidden, const Ragged& shape) const;
  // What the dense layers give.
  Var pooled(Tape& tape, Var hidden, const Ragged& shape) const {
    return features(tape, select(tape, hidden, shape));
  }
  // A vocabulary's: the cross-entropy without the logits.
  Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels,
           const ops::CrossEntropyOptions& options) const;
  void collect(std::vector<Parameter*>& parameters) const;  // but a tied projection
  void prepare_for_inference(const nn::Preparation& how) const;

 private:
  struct Dense {
    kernels::Activation activation;
    std::unique_ptr<nn::Linear> linear;
    std::unique_ptr<nn::Norm> norm;  // may be null
  };
  Var select(Tape& tape, Var hidden, const Ragged& shape) const;
  Var features(Tape& tape, Var hidden) const;  // what the projection reads
  Var bias() const { return bias_ ? &bias_->variable : nullptr; }

  HeadConfig config_;
  std::vector<Dense> dense_;
  std::unique_ptr<nn::Embedding> own_;
  nn::Embedding* projection_ = nullptr;  // own_ or a token table; null: none
  std::unique_ptr<Parameter> bias_;
};

}  // namespace regard
