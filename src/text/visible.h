// Printable spellings of tokens for the terminal and for heat maps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace regard::text {

// Return the bytes that the token represents, or the spelling of a special token; "▁" becomes a space if the
// decoder replaces it. The result may end inside a code point.
std::string bytes_of_token(const Tokenizer& tokenizer, std::int32_t id);

// Return a printable form: spaces as "·", line ends as "↵", tabs as "⇥", other control characters as "\x1B",
// bytes that are not UTF-8 as "‹E0A4›", and the empty text as "∅".
std::string make_visible(std::string_view bytes);

// Return the pieces in a row and their ids in the row below, aligned, and wrapped at `columns` terminal
// cells. If `colour` is set, adjacent pieces have different backgrounds and special tokens are dimmed.
std::string pieces_view(const Tokenizer& tokenizer, std::span<const std::int32_t> ids, int columns,
                        bool colour);

}  // namespace regard::text
