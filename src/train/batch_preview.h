// Examples of a micro-batch for display: the model's input, with tokens and labels aligned (data.preview).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "train/batch.h"

namespace regard::train {

struct PreviewTokenizers {
  const text::Tokenizer& target;
  const text::Tokenizer* source = nullptr;  // null if the batch has no source
};

// Return example `sequence` of a batch with tokens as labels: the source, the input and the label of each
// position.
std::string next_token_preview(const PreviewTokenizers& tokenizers, const Batch& batch, std::size_t sequence);

// Return the input of example `sequence`, and below each token its label: labels [tokens of the example],
// with the labels' names. A label that is not counted is shown as "·".
std::string labelled_preview(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                             std::span<const std::int32_t> labels, const std::vector<std::string>& names);

// Return the part of `values` that belongs to an example. `values` has one element for each token of the
// batch's target.
std::span<const std::int32_t> part_of(std::span<const std::int32_t> values, const Batch& batch,
                                      std::size_t sequence);

}  // namespace regard::train
