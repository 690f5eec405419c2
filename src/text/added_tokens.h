// The added tokens of a tokenizer, with the flags of Hugging Face's AddedToken. They are matched in the text
// before pre-tokenization.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "text/byte_trie.h"
#include "text/normalizers.h"
#include "text/pieces.h"
#include "text/vocabulary.h"

namespace regard::text {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;  // match only if no word character is adjacent
  bool lstrip = false;       // the match includes white space before the token
  bool rstrip = false;       // the match includes white space after the token
  bool normalized = true;    // match the normalised token in the normalised text
  bool special = false;      // true if decode(skip_special = true) omits the token
};

class AddedTokens {
 public:
  AddedTokens() = default;
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer);

  // Return true if `text` starts with the spelling() of an added token.
  bool begins(std::string_view text) const noexcept {
    return plain_.longest(text).first > 0 || normalized_.longest(text).first > 0;
  }
  bool seeks_normalized() const noexcept { return !normalized_.empty(); }
  // Split the text pieces at the added tokens whose flag `normalized` equals the argument `normalized`.
  // Special tokens are matched only if `match_special` is true.
  void extract(Pieces& pieces, bool normalized, bool match_special) const;
  const std::vector<AddedToken>& list() const noexcept { return tokens_; }
  const AddedToken* by_id(std::int32_t id) const;
  const AddedToken* by_content(std::string_view content) const;
  // Return the spelling of an added token in vocabulary lists and decoded text: the normalised content if
  // AddedToken::normalized is true, otherwise the content. Return null if `id` is not an added token.
  const std::string* spelling(std::int32_t id) const;
  bool is_special_content(std::string_view content) const;

 private:
  std::vector<AddedToken> tokens_;
  std::vector<std::string> spellings_;
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::map<std::string, std::size_t, std::less<>> by_content_;
  ByteTrie plain_, normalized_;  // each value is an index into tokens_
};

std::vector<AddedToken> read_added_tokens(const Json& json, const std::string& file);
Json write_added_tokens(const std::vector<AddedToken>& tokens);

}  // namespace regard::text
