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

// In lower case by the Unicode standard; ill-formed parts become U+FFFD.
inline std::string lower_case(std::string_view text) {
  return utf8::encode(utf8::lower(utf8::code_points(text)));
}

}  // namespace regard
