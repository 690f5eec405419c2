// Validation: the loss over held-out data, and translations against references.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/token_store.h"
#include "infer/stoppable_search.h"
#include "models/network.h"
#include "tensor/arena.h"
#include "text/tokenizer.h"

namespace regard::train {

// A sum of negative log-likelihoods in nats, summed in double over batches in a fixed order.
struct LossSum {
  double total = 0;
  std::int64_t tokens = 0;
  double mean() const { return tokens == 0 ? 0.0 : total / static_cast<double>(tokens); }
};

// Where passes outside training run.
struct Workplace {
  ThreadPool& pool;
  Arena& arena;           // its content is forgotten
  infer::Stop stop = {};  // asked after every batch; true: Stopped is thrown
};

// Thrown where a stop was asked for in the middle of an evaluation. Not an error.
struct Stopped {};

// Over all counted labels, end tokens included, without label smoothing.
LossSum pair_loss(Network& model, const Workplace& place, const data::PairStore& pairs, std::int32_t start);

// Over all tokens of the stream but the first, in windows of `context` tokens one after the other.
LossSum stream_loss(Network& model, const Workplace& place, std::span<const std::int32_t> stream,
                    std::int64_t context);

struct TranslationOptions {
  std::int64_t beam = 4;
  double length_penalty = 1.0;
  std::size_t count = 0;  // the first so many sources; 0: all
  infer::Stop stop = {};  // asked after every step of decoding; true: Stopped is thrown
};

// Translations of the sources (ids with their end token), in order.
std::vector<std::string> translate_sources(Network& model, ThreadPool& pool, const data::TokenStore& sources,
                                           const text::Tokenizer& target, const TranslationOptions& options);

}  // namespace regard::train
