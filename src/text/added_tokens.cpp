#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"

namespace regard::text {
namespace {

char32_t code_point_before(std::string_view text, std::size_t place) {
  std::size_t begin = place - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0u) == 0x80u) --begin;
  return utf8::decode(text, begin).value;
}

bool touches_word(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin > 0 && unicode::is_word(code_point_before(text, begin))) ||
         (end < text.size() && unicode::is_word(utf8::decode(text, end).value));
}

std::size_t spaces_before(std::string_view text, std::size_t place) {
  while (place > 0) {
    const char32_t c = code_point_before(text, place);
    if (!unicode::is_white_space(c)) break;
    --place;
    while (place > 0 && (static_cast<unsigned char>(text[place]) & 0xC0u) == 0x80u) --place;
  }
  return place;
}

std::size_t spaces_after(std::string_view text, std::size_t place) {
  while (place < text.size()) {
    const utf8::Decoded symbol = utf8::decode(text, place);
    if (!unicode::is_white_space(symbol.value)) break;
    place += static_cast<std::size_t>(symbol.size);
  }
  return place;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer)
    : tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    by_id_[token.id] = i;
    by_content_[token.content] = i;
    std::string sought = token.content;
    if (token.normalized && normalizer != nullptr) {
      AlignedText content(token.content, {}, 0, false);
      normalizer->apply(content);
      sought = content.text();
    }
    spellings_.push_back(std::move(sought));
  }
  const auto trie_of = [this](bool normalized) {
    std::vector<TokenView> strings;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].normalized == normalized)
        strings.push_back({spellings_[i], static_cast<std::int32_t>(i)});
    return ByteTrie(strings);
  };
  plain_ = trie_of(false);
  normalized_ = trie_of(true);
}

void AddedTokens::extract(Pieces& pieces, bool normalized, bool match_special) const {
  const ByteTrie& sought = normalized ? normalized_ : plain_;
  // Call split() even if no token occurs, because it also updates the origin of each piece. The reference
  // implementation does the same.
  pieces.split([&](std::string_view text, auto add) {
    std::size_t open = 0, next = 0;
    for (std::size_t place = 0; !sought.empty() && place < text.size(); place = next) {
      next = place + 1;
      const auto [size, index] = sought.longest(text.substr(place));
      if (size == 0) continue;
      const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
      next = place + size;
      if (!match_special && token.special) continue;
      if (token.single_word && touches_word(text, place, next)) continue;
      const std::size_t begin = token.lstrip ? std::max(open, spaces_before(text, place)) : place;
      const std::size_t end = token.rstrip ? spaces_after(text, next) : next;
      add(open, begin);
      add(begin, end, token.id);
      open = end;
    }
    add(open, text.size());
  });
}

const AddedToken* AddedTokens::by_id(std::int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::by_content(std::string_view content) const {
  const auto found = by_content_.find(content);
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

const std::string* AddedTokens::spelling(std::int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &spellings_[found->second];
}

bool AddedTokens::is_special_content(std::string_view content) const {
  const AddedToken* token = by_content(content);
  return token != nullptr && token->special;
}

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& file) {
  std::vector<AddedToken> tokens;
  for (const Json& entry : json) {
    AddedToken token;
    token.id = require_in<std::int32_t>(entry, "id", file, 0, Vocabulary::kMaxId);
    token.content = require<std::string>(entry, "content", file);
    token.single_word = optional_value<bool>(entry, "single_word", file).value_or(false);
    token.lstrip = optional_value<bool>(entry, "lstrip", file).value_or(false);
    token.rstrip = optional_value<bool>(entry, "rstrip", file).value_or(false);
    token.special = optional_value<bool>(entry, "special", file).value_or(false);
    token.normalized = optional_value<bool>(entry, "normalized", file).value_or(!token.special);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

Json write_added_tokens(const std::vector<AddedToken>& tokens) {
  Json list = Json::array();
  for (const AddedToken& token : tokens)
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", token.single_word},
                    {"lstrip", token.lstrip},
                    {"rstrip", token.rstrip},
                    {"normalized", token.normalized},
                    {"special", token.special}});
  return list;
}

}  // namespace regard::text
