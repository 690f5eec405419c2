// Micro-batches for training, and the sources that produce them.
#pragma once

#include <algorithm>
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

// One micro-batch. clear() keeps the memory of the buffers.
struct Batch {
  std::vector<std::int32_t> source_ids;  // token ids of the sources, for translation only
  // Features or pixels (ModelInput::values) instead of ids, one tensor per sequence. `source_inputs` are the
  // sources of an encoder–decoder; `inputs` are the inputs of any other model.
  std::vector<Tensor> source_inputs, inputs;
  RaggedBuffer source;
  // `ids` are the input of the decoder, or of a model that is not an encoder–decoder. `labels` has one label
  // per token, or one per sequence.
  std::vector<std::int32_t> ids, labels;
  std::vector<std::int32_t> types;   // token types; empty means that all are 0
  std::vector<float> values;         // numbers to predict (regression), instead of labels
  std::vector<float> label_weights;  // weight of each label; if empty, all weights are 1
  RaggedBuffer target;

  void clear();
  std::int64_t sequences() const { return target.view().sequences(); }
  // Return the number of labels that are counted in the loss (all except kIgnoredLabel). If the
  // batch has `values` instead of labels, return their number.
  std::int64_t target_tokens() const;
  // number of tokens of the decoder, or of a model that is not an encoder–decoder
  std::int64_t tokens() const { return target.view().tokens(); }
  double weight() const;  // sum of the weights of the counted labels; target_tokens() if there are no weights
  InputBatch source_batch() const { return {source_ids, source.view(), {}, nullptr, source_inputs}; }
  InputBatch target_batch() const { return {ids, target.view(), types, nullptr, inputs}; }

  // The parameter `index` of the following functions is the index of the sequence in the step.

  // Append a pair. The target must not be empty. The labels are the target; the decoder's input is the token
  // `start`, followed by the target without its last token.
  void add_pair(std::span<const std::int32_t> source_tokens, std::span<const std::int32_t> target_tokens,
                std::int32_t start, std::uint64_t index);
  // Append only the target of a pair. The caller adds its source, for example with add_source_input().
  void add_target(std::span<const std::int32_t> target_tokens, std::int32_t start, std::uint64_t index);
  // Append a text without labels. `token_types` must be given for all texts of the batch or for none of them.
  void add_text(std::span<const std::int32_t> tokens, std::span<const std::int32_t> token_types,
                std::uint64_t index);
  // Append an input of values (features or pixels) without labels, or the source of a pair. `length` is the
  // result of InputSpec::length_of(input).
  void add_input(const Tensor& input, std::int64_t length, std::uint64_t index);
  void add_source_input(const Tensor& input, std::int64_t length, std::uint64_t index);
  // Append a window of a token stream. The input is all tokens except the last one; the labels are all tokens
  // except the first one.
  void add_window(std::span<const std::int32_t> tokens, std::uint64_t index);
};

// Numbers of sequences, tokens and labels in a micro-batch, and the sum of the labels' weights. StepResult
// explains each member.
struct BatchSizes {
  std::int64_t sequences = 0, target_tokens = 0, tokens = 0, source_tokens = 0;
  double weight = 0;

  static BatchSizes of(const Batch& batch);
  void add(const BatchSizes& other);
};

class ShardedBatches;

// An endless source of micro-batches. state() returns the position in the data, and restore() continues from
// such a position.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Return this object as ShardedBatches if it is one, else null. Each rank draws only its own micro-batches
  // from ShardedBatches, but all micro-batches from any other source.
  virtual ShardedBatches* sharded() { return nullptr; }
  // Replace the content of `batch` with the next micro-batch. The indices of its sequences start at
  // `first_index`.
  virtual void next(Batch& batch, std::uint64_t first_index) = 0;
  virtual double epochs() const = 0;  // number of passes over the data so far
  virtual Json state() const = 0;
  virtual void restore(const Json& state, const std::string& file) = 0;

 protected:
  // Return the value of epochs() after `epoch` complete passes and the fraction `at` / `size` of the next
  // pass.
  static double epochs_at(std::uint64_t epoch, std::size_t at, std::size_t size) {
    return static_cast<double>(epoch) +
           static_cast<double>(at) / static_cast<double>(std::max<std::size_t>(size, 1));
  }
};

// Throws usage if an epoch over `sources` contains less than one example on average, unless `sources` is
// empty.
void require_examples(std::span<const data::WeightedSource> sources);

// Return batches of pairs for translation. `pairs` must outlive the result. Throws usage if `pairs` is empty,
// or if an epoch over the sources in `options` contains less than one pair on average.
std::unique_ptr<BatchSource> pair_batches(const data::PairStore& pairs,
                                          const data::EpochPlan::Options& options, std::int32_t start);

struct WindowOptions {
  std::int64_t batch_size = 12, context = 64;
  // Draw windows at random. If false, windows are consecutive, and their order is shuffled in each epoch.
  bool random = true;
  std::uint64_t seed = 1;
  // Sources of the stream; WeightedSource::end is a token index. If empty, the whole stream is one source
  // with weight 1.
  std::vector<data::WeightedSource> sources = {};
};
// Return windows of a token stream for language models. The memory of `stream` must outlive the result.
// Throws usage if the stream has no more than options.context tokens, or if an epoch over the sources in
// `options` contains less than one window on average.
std::unique_ptr<BatchSource> window_batches(std::span<const std::int32_t> stream,
                                            const WindowOptions& options);

}  // namespace regard::train
