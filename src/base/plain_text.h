// Basic text functions: blank texts, byte order marks, white space, HTML escapes, lower case.
#pragma once

#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "base/utf8.h"

namespace regard::base {

// Return true if the text is empty or only ASCII white space.
inline bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Return `text` without a leading UTF-8 byte order mark.
constexpr std::string_view without_byte_order_mark(std::string_view text) noexcept {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

// Normalise a line for comparison: remove the byte order mark and white space (utf8::is_space) at both ends,
// and replace each sequence of white space with one space. A single white space character outside ASCII (a
// no-break or ideographic space) between words is kept.
std::string normalize_whitespace(std::string_view text);

// Return the part of `rest` before the first `mark`, and remove the part and the mark from `rest`.
constexpr std::string_view take_part(std::string_view& rest, char mark) noexcept {
  const std::size_t at = rest.find(mark);
  const std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return part;
}

// Return the text with &, < and > escaped for HTML and XML; with `quotes`, also the double quote.
std::string html_escaped(std::string_view text, bool quotes = false);

// Convert to lower case as the Unicode standard defines it; ill-formed parts become U+FFFD.
inline std::string lower_case(std::string_view text) {
  return utf8::encode(utf8::lower(utf8::code_points(text)));
}

}  // namespace regard::base
