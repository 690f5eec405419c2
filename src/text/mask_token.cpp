#include "text/mask_token.h"

namespace regard::text {

std::optional<MaskToken> mask_token(const Tokenizer& tokenizer) {
  for (const char* name : {"[MASK]", "<mask>"})
    if (const auto id = tokenizer.id_of(name); id && tokenizer.is_special(*id)) return MaskToken{name, *id};
  return std::nullopt;
}

}  // namespace regard::text
