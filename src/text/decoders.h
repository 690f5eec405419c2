// The decoders of tokenizer.json: from a list of tokens back to text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"

namespace regard::text {

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Rewrites the list; the text is what it holds, joined. Strings may hold ill-formed UTF-8 only where the
  // vocabulary does.
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

// From a component with its "type". Throws bad_file with the component's name if it is unknown.
std::unique_ptr<Decoder> read_decoder(const Json& json, const std::string& file);

// Ill-formed parts become U+FFFD, one for each maximal part.
std::string repaired_utf8(std::string_view bytes);

}  // namespace regard::text
