// Conversion of token ids to tokens for display, with their bytes and special-token flags.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/attention_view.h"
#include "text/tokenizer.h"

namespace regard::inspect {

// Return a token for display: its text with "▁" for a space, "⏎" for a line feed and "⇥" for a tab. Special
// tokens and tokens that are not complete characters are shown by their name in the vocabulary.
std::string shown_token(const text::Tokenizer& tokenizer, std::int32_t id);
// Return shown_token(*tokenizer, id) or, if `tokenizer` is null, the id as a number.
std::string shown_token(const text::Tokenizer* tokenizer, std::int32_t id);

// shown_tokens(), special_tokens() and origins() return one element per id. `tokenizer` may be null;
// special_tokens() then returns an empty vector.
std::vector<std::string> shown_tokens(const text::Tokenizer* tokenizer, std::span<const std::int32_t> ids);
std::vector<bool> special_tokens(const text::Tokenizer* tokenizer, std::span<const std::int32_t> ids);
std::vector<TokenOrigin> origins(const text::Tokenizer* tokenizer, std::span<const std::int32_t> ids);

// Return the bytes of a token that is not a sequence of whole characters, such as one byte of "é"; return ""
// for any other token. `tokenizer` may be null.
std::string partial_bytes(const text::Tokenizer* tokenizer, std::int32_t id);

// Tokenize a text with the special tokens that the tokenizer adds. Special tokens are not recognised in the
// text, and the truncation and padding of the tokenizer file are not applied.
TokenizedText tokenized(const text::Tokenizer& tokenizer, std::string name, std::string_view text);

}  // namespace regard::inspect
