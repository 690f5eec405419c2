// Functions that convert parts of a View to JSON in the capture format (docs/capture-format.md): tokens,
// tokenizers, beam searches, and attention weights in several checkpoints (Film).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/attention_view.h"
#include "inspect/packed.h"

namespace regard::inspect {

std::string hexadecimal(std::string_view bytes);

// Return the JSON object for the tokens of the encoder or of the decoder. `special` and `unseen` are omitted
// if they are empty.
FloatJson tokens_json(const std::vector<std::string>& text, const std::vector<TokenOrigin>& origin,
                      const std::vector<bool>& special, const std::vector<bool>& unseen = {});

FloatJson tokenizers_json(const std::vector<TokenizedText>& tokenizers);

std::size_t node_count(const BeamTree& tree);
FloatJson beams_json(const BeamTree& tree);

// Return the JSON object of `film`, with attention weights as rows of numbers if `full`, otherwise packed
// with 8 bits per weight.
FloatJson film_json(const Film& film, bool full);

}  // namespace regard::inspect
