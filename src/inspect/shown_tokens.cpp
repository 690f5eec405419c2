#include "inspect/shown_tokens.h"

#include "text/visible.h"

namespace regard::inspect {

std::string shown_token(const text::Tokenizer& tokenizer, std::int32_t id) {
  const std::string name = tokenizer.token_of(id);
  if (tokenizer.is_special(id) || name.empty()) return name.empty() ? "?" : name;
  const std::int32_t ids[] = {id};
  std::string text = tokenizer.decode(ids, false);
  // Detect a leading space in the token's name, because decode() removes the space.
  const bool spaced = name.starts_with("▁") || name.starts_with("Ġ");
  if (text.find("\uFFFD") != std::string::npos || (text.empty() && !spaced)) return name;
  while (text.starts_with(' ')) text.erase(0, 1);
  std::string shown = spaced ? "▁" : "";
  for (const char c : text) {
    if (c == '\n')
      shown += "⏎";
    else if (c == '\t')
      shown += "⇥";
    else
      shown += c == ' ' ? "▁" : std::string(1, c);
  }
  return shown.empty() ? "▁" : shown;
}

std::string shown_token(const text::Tokenizer* tokenizer, std::int32_t id) {
  return tokenizer == nullptr ? std::to_string(id) : shown_token(*tokenizer, id);
}

std::vector<std::string> shown_tokens(const text::Tokenizer* tokenizer, std::span<const std::int32_t> ids) {
  std::vector<std::string> shown;
  for (const std::int32_t id : ids) shown.push_back(shown_token(tokenizer, id));
  return shown;
}

std::vector<bool> special_tokens(const text::Tokenizer* tokenizer, std::span<const std::int32_t> ids) {
  std::vector<bool> flags;
  if (tokenizer == nullptr) return flags;
  for (const std::int32_t id : ids) flags.push_back(tokenizer->is_special(id));
  return flags;
}

std::vector<TokenOrigin> origins(const text::Tokenizer* tokenizer, std::span<const std::int32_t> ids) {
  std::vector<TokenOrigin> all;
  for (const std::int32_t id : ids) {
    all.push_back({id});
    if (tokenizer != nullptr) all.back().bytes = text::bytes_of_token(*tokenizer, id);
  }
  return all;
}

std::string partial_bytes(const text::Tokenizer* tokenizer, std::int32_t id) {
  const std::int32_t ids[] = {id};
  if (tokenizer == nullptr || tokenizer->is_special(id) ||
      tokenizer->decode(ids, false).find("\uFFFD") == std::string::npos)
    return {};
  return text::bytes_of_token(*tokenizer, id);
}

TokenizedText tokenized(const text::Tokenizer& tokenizer, std::string name, std::string_view text) {
  const text::Encoding encoding =
      tokenizer.encode(text, {.add_special = true, .match_special = false, .as_file = false});
  return {.name = std::move(name),
          .type = tokenizer.model_type(),
          .vocabulary = tokenizer.vocabulary_size(),
          .text = shown_tokens(&tokenizer, encoding.ids),
          .origin = origins(&tokenizer, encoding.ids),
          .special = special_tokens(&tokenizer, encoding.ids),
          .places = encoding.offsets};
}

}  // namespace regard::inspect
