// A model that decodes step by step with a key/value cache, and the result of a full pass for comparison.
#pragma once

#include <vector>

#include "nn/cache.h"
#include "support/namespaces.h"
#include "support/tiny_models.h"

namespace regard::testing {

class CacheDecoder {
 public:
  CacheDecoder(Network& model, Cache with) : model_(model), cache(std::move(with)) {}

  // Encode `source`, to which the tokens of later calls of step() attend.
  void encode(const Tokens& source) {
    source_ = source;
    shape_.clear();
    shape_.add(std::ssize(source), 0);
    encoder_.begin({});
    memory_ = {model_.encode(encoder_, {source_, shape_.view()}), shape_.view()};
  }

  // Append tokens[s] to slots[s] for each s. Return the logits after the last token of each of these slots.
  std::vector<std::vector<float>> step(const std::vector<std::int32_t>& slots,
                                       const std::vector<Tokens>& tokens) {
    RaggedBuffer buffer;
    Tokens ids;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      buffer.add(std::ssize(tokens[s]), 0, static_cast<std::int32_t>(cache.length(slots[s])));
      ids.insert(ids.end(), tokens[s].begin(), tokens[s].end());
    }
    cache.select(slots);
    tape_.begin({});
    const Memory* memory = memory_.hidden != nullptr ? &memory_ : nullptr;
    const Tensor logits =
        model_.logits(tape_, model_.decode(tape_, {ids, buffer.view()}, memory, &cache))->value;
    std::vector<std::vector<float>> rows;
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const float* row = logits.row(buffer.view().offsets[s + 1] - 1);
      rows.emplace_back(row, row + logits.columns());
    }
    return rows;
  }

 private:
  Network& model_;
  ThreadPool pool_{2};
  Arena arena_, encoder_arena_;
  Tape tape_{pool_, arena_}, encoder_{pool_, encoder_arena_};
  Tokens source_;
  RaggedBuffer shape_;
  Memory memory_;

 public:
  Cache cache;
};

// Return the logits after the last token from a full pass without a cache.
inline std::vector<float> last_logits(Network& model, const Tokens& source, const Tokens& target) {
  Runner runner(model, {source}, {target}, 1);
  const std::vector<float> logits = runner.full({0})[0];
  return {logits.end() - model.vocabulary(), logits.end()};
}

}  // namespace regard::testing
