// Small models of every kind for tests, and ways to run them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/transformer.h"
#include "ops/ragged.h"

namespace regard::testing {

using Tokens = std::vector<std::int32_t>;

// Names of the configurations below; each differs from the others in everything that may differ.
//   translator  encoder–decoder, pre-norm, sinusoidal, all tied
//   postnorm    encoder–decoder, post-norm, learned positions, nothing tied, gelu
//   gpt         decoder, pre-norm, learned positions, no biases, gelu
//   llama       decoder, RMS norm, rotary, gated, grouped keys
std::vector<std::string> tiny_model_names();
TransformerConfig tiny_config(const std::string& name);
std::unique_ptr<Network> tiny_model(const std::string& name, std::uint64_t seed = 1);

// Sequences of these lengths, of random tokens of the vocabulary.
std::vector<Tokens> random_tokens(const std::vector<std::int64_t>& lengths, std::int64_t vocabulary,
                                  std::uint64_t seed);

// One side of a batch; its spans point into it.
struct Side {
  Tokens ids;
  RaggedBuffer buffer;
  TokenBatch batch() const { return {ids, buffer.view()}; }
};

// What a model says to sequences, run in some company.
class Runner {
 public:
  // sources may be empty where the model has no encoder. Sequence i has index i in the global batch.
  Runner(Network& model, std::vector<Tokens> sources, std::vector<Tokens> targets, int threads);

  // Logits of these sequences, in this order, as one batch: [target tokens, vocabulary] each.
  std::vector<std::vector<float>> full(const std::vector<std::size_t>& order, bool training = false);
  // The same with a cache, `step` tokens at a time.
  std::vector<std::vector<float>> cached(const std::vector<std::size_t>& order, std::int64_t step);

  // The loss of predicting each next token, over all sequences, with its gradients added to the parameters'.
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
