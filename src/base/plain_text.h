// Small questions to ask of a text.
#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace regard {

// Nothing, or nothing but ASCII white space.
inline bool is_blank(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// `text` without the UTF-8 byte order mark that may begin a file.
constexpr std::string_view without_byte_order_mark(std::string_view text) noexcept {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

// A line of text as lines are compared: no byte order mark, no white space (utf8::is_space) at either end,
// and one space for each run of white space. A single white space character outside ASCII (a no-break or
// ideographic space) between words stays.
std::string normalize_whitespace(std::string_view text);

// In lower case by the Unicode standard; ill-formed parts become U+FFFD.
inline std::string lower_case(std::string_view text) {
  return utf8::encode(utf8::lower(utf8::code_points(text)));
}

}  // namespace regard
