// Formats examples of a micro-batch as text for data.preview: the model's input, with tokens and labels in
// aligned columns.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "train/batch.h"

namespace regard::train {

struct PreviewTokenizers {
  const text::Tokenizer& target;
  const text::Tokenizer* source = nullptr;  // tokenizer of the source; null if the batch has no source
};

// Return example `sequence` of a batch whose labels are tokens: the source, and the input and label of each
// position.
std::string next_token_preview(const PreviewTokenizers& tokenizers, const Batch& batch, std::size_t sequence);

// Return the input tokens of an example with the label below each token. `labels` [tokens of the example] are
// indices into `names`; a negative label (kIgnoredLabel) is shown as "·".
std::string labelled_preview(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids,
                             std::span<const std::int32_t> labels, const std::vector<std::string>& names);

// Return the part of `values` that belongs to example `sequence`. `values` has one element for each token of
// the batch's target.
std::span<const std::int32_t> part_of(std::span<const std::int32_t> values, const Batch& batch,
                                      std::size_t sequence);

}  // namespace regard::train
