// Small models of every kind for tests, and a class that runs them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/transformer.h"
#include "ops/ragged.h"
#include "ops/tape.h"
#include "support/namespaces.h"

namespace regard::testing {

using Tokens = std::vector<std::int32_t>;

// Names of the configurations. They cover the options of TransformerConfig between them:
//   translator  encoder–decoder, pre-norm, sinusoidal, all tied
//   postnorm    encoder–decoder, post-norm, learned positions, nothing tied, gelu
//   gpt         decoder, pre-norm, learned positions, no biases, gelu
//   llama       decoder, RMS norm, rotary, gated, grouped keys
std::vector<std::string> tiny_model_names();
TransformerConfig tiny_config(const std::string& name);
std::unique_ptr<Network> tiny_model(const std::string& name, std::uint64_t seed = 1);

// Return sequences of these lengths, of random tokens of the vocabulary.
std::vector<Tokens> random_tokens(const std::vector<std::int64_t>& lengths, std::int64_t vocabulary,
                                  std::uint64_t seed);

// Tokens of one side of a batch. The spans of batch() point into this object.
struct Side {
  Tokens ids;
  RaggedBuffer buffer;
  TokenBatch batch() const { return {ids, buffer.view()}; }
};

// Runs a model on sequences, in any batches.
class Runner {
 public:
  // `sources` may be empty if the model has no encoder. Sequence i has index i in the global batch.
  Runner(Network& model, std::vector<Tokens> sources, std::vector<Tokens> targets, int threads);

  // Compute the logits of these sequences, in this order, in one batch: [target tokens, vocabulary] each.
  std::vector<std::vector<float>> full(const std::vector<std::size_t>& order, bool training = false);
  // Like full(), but with a key/value cache, `step` tokens at a time.
  std::vector<std::vector<float>> cached(const std::vector<std::size_t>& order, std::int64_t step);

  // Compute the next-token loss over all sequences. If `backward` is true, add its gradients to the gradients
  // of the parameters.
  float loss(std::uint64_t step, bool backward);

  Arena& arena() { return arena_; }
  ThreadPool& pool() { return pool_; }

 private:
  void fill(Side& side, const std::vector<Tokens>& from, const std::vector<std::size_t>& order);
  Var decode(const std::vector<std::size_t>& order);
  Network& model_;
  std::vector<Tokens> sources_, targets_;
  ThreadPool pool_;
  Arena arena_, encoder_arena_;
  Tape tape_{pool_, arena_};
  Side source_, target_;
  Tokens labels_;
  std::vector<std::size_t> everyone_;
};

}  // namespace regard::testing
