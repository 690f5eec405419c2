// Base64 (RFC 4648), as tokenizer files carry bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace regard::text {

// Nothing if some character is not base64's or the padding is wrong.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace regard::text
