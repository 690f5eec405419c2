// Conversion of a View to JSON in the capture format (docs/capture-format.md, docs/capture.schema.json).
// `attend --json` prints this format, and the HTML page displays it.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "inspect/attention_view.h"

namespace regard::inspect {

enum class Precision : std::uint8_t {
  // Attention weights with 8 bits each; vectors and activations as f32 in base64. If the attention weights
  // need more than about 1.2 MB, only heads with the highest scores (HeadSummary::telling) are written with
  // their weights.
  bits8,
  full,  // all values as rows of decimal numbers that parse to the same f32 values
};

// Return one line of JSON in UTF-8. Bytes that are not UTF-8, for example in a folder name, become U+FFFD.
std::string to_json(const View& view, Precision precision = Precision::bits8);

// Remove the query, key and value vectors (Map::values) of the heads with the lowest scores
// (HeadSummary::telling) until at most `numbers` elements remain. Describe the removal in view.left_out.
void limit_values(View& view, std::size_t numbers);

// Remove activations until at most `numbers` elements remain, and describe the removal in view.left_out.
// Probe points in `needed` have the highest priority, then embeddings, residuals and the outputs of the
// encoder and decoder, then all others in the order of computation.
void limit_activations(View& view, std::size_t numbers, const std::set<std::string>& needed = {});

}  // namespace regard::inspect
