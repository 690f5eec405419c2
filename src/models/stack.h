// The parts that make_network() assembles: embedding (InputEmbedding), layers of an encoder or decoder
// (Stack), and output head (Head).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "models/architecture.h"
#include "models/model_input.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/parameter.h"
#include "ops/ragged.h"

namespace regard::models {

// Token embedding tables by name. table() creates a table at the first call with its name and returns the
// same table afterwards; collect() appends the weights in the order of creation.
class TokenTables {
 public:
  nn::Embedding& table(const std::string& name, std::int64_t count, std::int64_t size,
                       Initialisation initial);
  // return the table with this name; null if there is none
  nn::Embedding* find(const std::string& name) const;
  void collect(std::vector<Parameter*>& parameters) const;

 private:
  std::vector<std::pair<std::string, std::unique_ptr<nn::Embedding>>> tables_;
};

// Computes the first layer's input [tokens, hidden] from the inputs of a batch.
class InputEmbedding {
 public:
  virtual ~InputEmbedding() = default;
  virtual InputSpec input_spec() const { return {}; }  // input specification; default: token ids
  virtual Var forward(Tape& tape, const InputBatch& batch) const = 0;
  // append all parameters except token tables
  virtual void collect(std::vector<Parameter*>& parameters) const = 0;
  virtual void prepare_for_inference(const nn::Preparation& how) const = 0;
};

std::unique_ptr<InputEmbedding> make_token_embedding(const InputEmbeddingConfig& config, std::int64_t hidden,
                                                     TokenTables& tables);
std::unique_ptr<InputEmbedding> make_patch_embedding(const InputEmbeddingConfig& config, std::int64_t hidden);
std::unique_ptr<InputEmbedding> make_front(const InputEmbeddingConfig& config, std::int64_t hidden);
std::unique_ptr<InputEmbedding> make_input_embedding(const InputEmbeddingConfig& config, std::int64_t hidden,
                                                     TokenTables& tables);

class Stack {
 public:
  Stack(const StackConfig& config, std::int64_t hidden, std::unique_ptr<InputEmbedding> input);

  InputSpec input_spec() const { return input_->input_spec(); }
  Var forward(Tape& tape, const InputBatch& batch, const Memory* memory, Cache* cache) const;
  kernels::Precision precision() const;  // return the precision of attention for inference
  void collect(std::vector<Parameter*>& parameters) const;
  void prepare_for_inference(const nn::Preparation& how) const;

 private:
  std::string point_;
  ops::DropoutOptions dropout_, output_dropout_;
  std::unique_ptr<InputEmbedding> input_;
  std::unique_ptr<nn::RotaryPositions> rotary_;
  std::unique_ptr<nn::RelativeBias> relative_bias_;
  std::vector<std::unique_ptr<nn::Block>> blocks_;
  std::unique_ptr<nn::Norm> norm_;
  bool sums_normed_ = false;                  // true if the learned sum uses the output of the final norm
  std::unique_ptr<Parameter> layer_weights_;  // StackConfig::layer_weights; may be null
};

class Head {
 public:
  // Create the head. If there is a token table with the projection's name, the projection uses the weight of
  // that table; otherwise the projection has a weight of its own.
  Head(const HeadConfig& config, std::int64_t hidden, const TokenTables& tables);

  const HeadConfig& config() const { return config_; }
  Var forward(Tape& tape, Var hidden, const InputBatch& batch) const;
  // Return the output of the dense layers, without the projection.
  Var pooled(Tape& tape, Var hidden, const Ragged& shape) const {
    return features(tape, select(tape, hidden, {{}, shape}));
  }
  // Return the cross-entropy over a vocabulary, without storing all logits.
  Var loss(Tape& tape, Var hidden, std::span<const std::int32_t> labels,
           const ops::CrossEntropyOptions& options) const;
  void collect(std::vector<Parameter*>& parameters) const;  // append all parameters except a tied projection
  void prepare_for_inference(const nn::Preparation& how) const;

 private:
  struct Dense {
    kernels::Activation activation;
    std::unique_ptr<nn::Linear> linear;
    std::unique_ptr<nn::Norm> norm;  // may be null
  };
  Var select(Tape& tape, Var hidden, const InputBatch& batch) const;
  std::int32_t last_row(const InputBatch& batch, std::int32_t begin, std::int32_t end) const;
  Var mean_of_first_two(Tape& tape, Var hidden, const Ragged& shape) const;
  Var features(Tape& tape, Var hidden) const;  // return the input of the projection
  Var second_projection(Tape& tape, Var hidden, const Ragged& shape) const;
  Var dropped(Tape& tape, Var x, const Ragged& shape, const ops::DropoutOptions& options) const;
  Var bias() const { return bias_ ? &bias_->variable : nullptr; }

  HeadConfig config_;
  std::unique_ptr<nn::Norm> norm_;  // may be null
  std::vector<Dense> dense_;
  std::unique_ptr<nn::Embedding> own_;
  nn::Embedding* projection_ = nullptr;  // output projection: own_ or a token table; null if there is none
  std::unique_ptr<Parameter> bias_;
  std::unique_ptr<nn::Linear> second_;  // second projection (HeadConfig::second); may be null
};

}  // namespace regard::models
