// Formats training examples as text: tokens, with labels and other values of each token aligned in columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace regard::data {

// One line of an example, such as its tokens or its labels: cell i belongs to token i. A line may have fewer
// cells than others.
struct PreviewRow {
  std::string name;
  std::vector<std::string> cells;
};

// Return the rows as aligned lines of text: the cells of each token form a column, and control characters are
// escaped. Lines are wrapped to `width` terminal cells, with a blank line between the parts of a wrapped
// example.
std::string aligned_preview(std::span<const PreviewRow> rows, int width = 100);

// Return a row for aligned_preview() with the tokens of the ids. Ids outside of the vocabulary are shown as
// "#ID".
PreviewRow token_row(std::string name, const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids);
// Return a row with the names of the labels. A label without a name is shown as its number. A negative label,
// which the loss ignores, is shown as "·".
PreviewRow label_row(std::string name, std::span<const std::int32_t> labels,
                     const std::vector<std::string>& names = {});

}  // namespace regard::data
