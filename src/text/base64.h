// Base64 (RFC 4648), the encoding of bytes in tokenizer files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace regard::text {

// Decode a text. Returns nullopt for a character outside the alphabet or for wrong padding.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace regard::text
