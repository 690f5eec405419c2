// Parts of the capture format (docs/capture-format.md) that consist of tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/attention_view.h"
#include "inspect/packed.h"

namespace regard::inspect {

std::string hexadecimal(std::string_view bytes);

// Return the object of one side. `special` and `unseen` are omitted if they are empty.
FloatJson tokens_json(const std::vector<std::string>& text, const std::vector<TokenOrigin>& origin,
                      const std::vector<bool>& special, const std::vector<bool>& unseen = {});

FloatJson tokenizers_json(const std::vector<TokenizedText>& tokenizers);

std::size_t node_count(const BeamTree& tree);
FloatJson beams_json(const BeamTree& tree);

// `full`: write weights as rows of numbers instead of 8 bits.
FloatJson film_json(const Film& film, bool full);

}  // namespace regard::inspect
