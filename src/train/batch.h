// A micro-batch as a model takes it, and where micro-batches come from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/json.h"
#include "data/batch_plan.h"
#include "data/token_store.h"
#include "models/network.h"
#include "ops/ragged.h"

namespace regard::train {

// Buffers keep their memory from batch to batch.
struct Batch {
  std::vector<std::int32_t> source_ids;  // translation only
  RaggedBuffer source;
  std::vector<std::int32_t> ids, labels;  // the decoder's input, and what it should say next
  RaggedBuffer target;

  void clear();
  std::int64_t sequences() const { return target.view().sequences(); }
  std::int64_t target_tokens() const;  // labels that count towards the loss: all but kIgnoredLabel
  TokenBatch source_batch() const { return {source_ids, source.view()}; }
  TokenBatch target_batch() const { return {ids, target.view()}; }

  // Appends a pair: the decoder reads `start` and all of `target` but its last token, and is to say `target`.
  void add_pair(std::span<const std::int32_t> source_tokens, std::span<const std::int32_t> target_tokens,
                std::int32_t start, std::uint64_t index);
  // Appends a window of a stream: reads all but the last token, is to say all but the first.
  void add_window(std::span<const std::int32_t> tokens, std::uint64_t index);
};

// Hands out micro-batches for ever. Where it stands is all of its state.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Fills `batch` with the next micro-batch; its sequences are numbered from `first_index` on.
  virtual void next(Batch& batch, std::uint64_t first_index) = 0;
  virtual double epochs() const = 0;  // passes over the data so far
  virtual Json state() const = 0;
  virtual void restore(const Json& state, const std::string& file) = 0;
};

// Translation: `pairs` must outlive it.
std::unique_ptr<BatchSource> pair_batches(const data::PairStore& pairs,
                                          const data::EpochPlan::Options& options, std::int32_t start);

struct WindowOptions {
  std::int64_t batch_size = 12, context = 64;
  bool random = true;  // else one after the other, shuffled each epoch
  std::uint64_t seed = 1;
};
// Language models: `stream` must outlive it. Throws usage if it is shorter than a window.
std::unique_ptr<BatchSource> window_batches(std::span<const std::int32_t> stream,
                                            const WindowOptions& options);

}  // namespace regard::train
