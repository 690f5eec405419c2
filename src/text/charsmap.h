// sentencepiece's precompiled normalisation: a trie (double array of darts-clone) that maps substrings to
// offsets in a block of NUL-terminated replacements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::text {

class CharsMap {
 public:
  CharsMap() = default;
  // Throws bad_file with `file` if the size of the trie is invalid. Invalid offsets in the trie are not
  // reported: a search stops at such an offset.
  CharsMap(std::string_view blob, const std::string& file);
  bool empty() const noexcept { return units_.empty(); }

  struct Rule {
    std::size_t size = 0;  // number of bytes that the rule replaces
    std::string_view replacement;
  };
  // Return true if a rule matches a substring that contains a space after its first byte.
  bool reaches_over_spaces() const noexcept;
  // Return the rule of the shortest prefix of `text` that has a rule; longest() uses the longest such prefix.
  std::optional<Rule> shortest(std::string_view text) const noexcept { return find(text, false); }
  std::optional<Rule> longest(std::string_view text) const noexcept { return find(text, true); }

 private:
  std::optional<Rule> find(std::string_view text, bool longest) const noexcept;
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace regard::text
