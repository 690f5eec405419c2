#include "text/tokenizer_pair.h"

namespace regard::text {

TokenizerPair load_tokenizer_pair(const std::filesystem::path& folder) {
  const auto first = Tokenizer::load(folder);
  if (std::filesystem::exists(folder / kSourceTokenizerFile))
    return {Tokenizer::load(folder / kSourceTokenizerFile), first};
  if (std::filesystem::exists(folder / kTargetTokenizerFile))
    return {first, Tokenizer::load(folder / kTargetTokenizerFile)};
  return {first, first};
}

}  // namespace regard::text
