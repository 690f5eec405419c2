// The decoders of tokenizer.json: convert a list of tokens to text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace regard::text {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Rewrite the tokens so that their concatenation is the decoded text. The text contains ill-formed UTF-8
  // only if a token of the vocabulary contains it.
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

// Create a decoder from a JSON component with a "type". Throws bad_file if the type is unknown; the error
// names the type.
std::unique_ptr<Decoder> read_decoder(const Json& json, const std::string& file);

// Return the byte that a byte-fallback token such as "<0x41>" represents, or -1 for other tokens.
int byte_of_name(std::string_view token) noexcept;

// Replace each maximal ill-formed sequence with U+FFFD.
std::string repaired_utf8(std::string_view bytes);

}  // namespace regard::text
