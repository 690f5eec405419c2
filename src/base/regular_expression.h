// A regular expression for short texts, such as names. The syntax is PCRE2's, which includes almost all of
// Python's.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

class RegularExpression {
 public:
  // Throws bad_file with `file`, or usage if `file` is empty, if the expression cannot be compiled.
  explicit RegularExpression(std::string expression, std::string file = "");
  ~RegularExpression();

  // Both functions throw the kinds of the constructor if matching exceeds the limit on its steps.
  //
  // Return true if the expression matches the whole text.
  bool matches(std::string_view text) const;
  // Return the length of the match that begins at the start of the text.
  std::optional<std::size_t> match_at_start(std::string_view text) const;

 private:
  struct Compiled;
  std::optional<std::size_t> match(std::string_view text, unsigned options) const;

  std::string expression_, file_;
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace regard::base
