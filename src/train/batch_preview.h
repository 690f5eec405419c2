// Examples of a micro-batch as the model gets them, tokens and labels aligned (data.preview).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "train/batch.h"

namespace regard::train {

struct PreviewTokenizers {
  const text::Tokenizer& target;
  const text::Tokenizer* source = nullptr;  // null: the batch has no source
};

// Example `sequence` of a batch whose labels are tokens: the source, the input and the label of each
// position.
std::string next_token_preview(const PreviewTokenizers& tokenizers, const Batch& batch, std::size_t sequence);

// Return the input of example `sequence`, and below each token its label: labels [tokens of the example],
// with the labels' names. A label that is not counted is shown as "·".
std::string labelled_preview(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                             std::span<const std::int32_t> labels, const std::vector<std::string>& names);

// The part of `values`, one for each token of the batch's target, that belongs to an example.
std::span<const std::int32_t> part_of(std::span<const std::int32_t> values, const Batch& batch,
                                      std::size_t sequence);

}  // namespace regard::train
