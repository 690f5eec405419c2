// The mask token of a masked language model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "text/tokenizer.h"

namespace regard::text {

struct MaskToken {
  std::string text;  // "[MASK]" or "<mask>"
  std::int32_t id = -1;
};

// Return the mask token if the tokenizer has one as a special token.
std::optional<MaskToken> mask_token(const Tokenizer& tokenizer);

}  // namespace regard::text
