// Encodes texts or pairs of texts as examples, and returns shuffled batches of examples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/token_store.h"
#include "data/weighted_sources.h"
#include "text/tokenizer.h"
#include "train/batch.h"

namespace regard::train {

struct Examples {
  data::TokenStore ids, types;  // token ids and types of each example; `types` is empty if all are 0
  std::int64_t truncated = 0;   // number of examples that were longer than the limit

  std::size_t size() const { return ids.size(); }
  // Append example `i` to a batch, without labels; `index` is its index in the step.
  void append(Batch& batch, std::size_t i, std::uint64_t index) const {
    batch.add_text(ids[i], types.size() == 0 ? std::span<const std::int32_t>() : types[i], index);
  }
};

// Encode texts with special tokens, truncated to `most` tokens; in a pair, the longer text is truncated
// first. `second` is empty, or has one text for each text of `first`.
Examples encode_examples(const text::Tokenizer& tokenizer, std::span<const std::string> first,
                         std::span<const std::string> second, std::int64_t most, ThreadPool& pool);

// Function that appends an example with its labels to a batch. `epoch` is the number of the pass over the
// data.
using AppendExample =
    std::function<void(Batch& batch, std::size_t example, std::uint64_t epoch, std::uint64_t index)>;

// Return batches of `batch_size` examples, shuffled in each epoch; the last batch of an epoch may be smaller.
// `sources` sets how often an epoch contains each example; if it is empty, each example occurs once. Throws
// usage if there are no examples, or if an epoch over `sources` contains less than one example on average.
std::unique_ptr<BatchSource> example_batches(std::size_t examples, std::int64_t batch_size,
                                             std::uint64_t seed, AppendExample append,
                                             std::vector<data::WeightedSource> sources = {});

// Call visit(begin, end) for consecutive groups of examples. A group has at most `tokens` tokens, or consists
// of one longer example.
void in_groups(const data::TokenStore& ids, std::int64_t tokens,
               const std::function<void(std::size_t begin, std::size_t end)>& visit);

}  // namespace regard::train
