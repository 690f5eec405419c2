// Validation: computes the loss on held-out data, and translations of held-out sources.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/token_store.h"
#include "distributed/ranks.h"
#include "infer/stoppable_search.h"
#include "models/network.h"
#include "tensor/arena.h"
#include "text/tokenizer.h"
#include "train/batch.h"
#include "train/tokenizers.h"

namespace regard::train {

// A sum of negative log-likelihoods in nats. It is computed in double over batches in a fixed order.
struct LossSum {
  double total = 0;
  std::int64_t tokens = 0;
  double mean() const { return tokens == 0 ? 0.0 : total / static_cast<double>(tokens); }
};

// Resources of forward passes outside training.
struct PassResources {
  ThreadPool& pool;
  Arena& arena;           // memory for the forward passes; its content is overwritten
  infer::Stop stop = {};  // called after every batch; if it returns true, Stopped is thrown
  // The processes that share the work of pair_loss(), example_loss() and stream_loss(); these functions are
  // then collective (all ranks must call them). Null if this process does all the work.
  distributed::Ranks* ranks = nullptr;
  // called in every forward pass, and can change the computed values; not owned, may be null
  Probe* probe = nullptr;
};

// Thrown if `stop` interrupts an evaluation. It is not an error.
struct Stopped {};

// The results of the functions below are bit-identical for any number of ranks. If `stop` returns true on any
// rank, all ranks throw Stopped.

// Return the loss over all labels except kIgnoredLabel, including end tokens, without label smoothing.
// `start` is the decoder's start token. A pair whose target has no tokens is left out.
LossSum pair_loss(Network& model, const PassResources& resources, const data::PairStore& pairs,
                  std::int32_t start);

// The same as pair_loss(), for the examples 0 to `examples` − 1. append(batch, example) must add an example
// to a batch, such as a pair whose source is an image or a sound.
LossSum example_loss(Network& model, const PassResources& resources, std::size_t examples,
                     const std::function<void(Batch& batch, std::size_t example)>& append);

// Return the loss over all tokens of the stream except the first one, in consecutive windows of `context`
// tokens.
LossSum stream_loss(Network& model, const PassResources& resources, std::span<const std::int32_t> stream,
                    std::int64_t context);

struct TranslationOptions {
  std::int64_t beam = 4;
  double length_penalty = 1.0;
  std::size_t count = 0;  // number of sources to translate, starting with the first; 0 means all
  infer::Stop stop = {};  // called after every decoding step; if it returns true, Stopped is thrown
  // ids of special tokens; if null, special_ids() finds them in the tokenizer
  const SpecialIds* special = nullptr;
  distributed::Ranks* ranks = nullptr;  // the processes that share the work; see PassResources
};

// Translate the sources (token ids with end token) and return the texts in the same order.
std::vector<std::string> translate_sources(Network& model, ThreadPool& pool, const data::TokenStore& sources,
                                           const text::Tokenizer& target, const TranslationOptions& options);

// The same as translate_sources(), for sources of any kind, such as images or sounds. options.count has no
// effect.
std::vector<std::string> decode_sources(Network& model, ThreadPool& pool, std::span<const ModelInput> sources,
                                        const text::Tokenizer& target, const TranslationOptions& options);

}  // namespace regard::train
