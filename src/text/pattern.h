// Patterns of tokenizer files: literal strings, or regular expressions in Oniguruma's dialect. A pattern
// divides a text into matches and the ranges between them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/aligned_text.h"

namespace regard::text {

class Pattern {
 public:
  virtual ~Pattern() = default;
  // Append ranges that together cover `text`, in order; none if the text is empty. A match may be empty.
  // `text` must be valid UTF-8.
  virtual void find(std::string_view text, std::vector<Match>& matches) const = 0;
};

std::unique_ptr<Pattern> literal_pattern(std::string text);
// Create a pattern from a regular expression. Well-known expressions use a hand-written scanner, all others
// PCRE2 with JIT. Throws bad_file with `file` if the expression cannot be compiled; find() throws bad_file if
// matching exceeds PCRE2's limits.
std::unique_ptr<Pattern> regex_pattern(const std::string& expression, const std::string& file);
// Create a pattern that always uses PCRE2. Tests compare the scanners with it.
std::unique_ptr<Pattern> pcre2_pattern(const std::string& expression, const std::string& file);
// Read {"String": "…"}, {"Regex": "…"} or, as in older files, a plain string (a literal).
std::unique_ptr<Pattern> read_pattern(const Json& json, const std::string& file);

// Treatment of the matches when a text is split.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
SplitBehavior read_behavior(const std::string& name, const std::string& file);

// Call add(begin, end) for each piece that results from the split, in order. `matches` must cover the text.
template <class Add>
void cut_at(const std::vector<Match>& matches, SplitBehavior behavior, Add add);

template <class Add>
void cut_at(const std::vector<Match>& matches, SplitBehavior behavior, Add add) {
  const std::size_t count = matches.size();
  switch (behavior) {
    case SplitBehavior::removed:
      for (const Match& match : matches)
        if (!match.matched) add(match.begin, match.end);
      return;
    case SplitBehavior::isolated:
      for (const Match& match : matches) add(match.begin, match.end);
      return;
    case SplitBehavior::contiguous:
      for (std::size_t i = 0, next = 0; i < count; i = next) {
        for (next = i + 1; next < count && matches[next].matched == matches[i].matched;) ++next;
        add(matches[i].begin, matches[next - 1].end);
      }
      return;
    // A match is appended to the range before it, unless that range is a match.
    case SplitBehavior::merged_with_previous:
      for (std::size_t i = 0, next = 0; i < count; i = next) {
        for (next = i + 1; next < count && matches[next].matched && !matches[next - 1].matched;) ++next;
        add(matches[i].begin, matches[next - 1].end);
      }
      return;
    case SplitBehavior::merged_with_next:  // mirror image of the previous case, computed from the end
      std::vector<Match> groups;
      for (std::size_t i = count, next = 0; i > 0; i = next) {
        for (next = i - 1; next > 0 && matches[next - 1].matched && !matches[next].matched;) --next;
        groups.push_back({matches[next].begin, matches[i - 1].end, false});
      }
      for (std::size_t i = groups.size(); i-- > 0;) add(groups[i].begin, groups[i].end);
      return;
  }
}

}  // namespace regard::text
