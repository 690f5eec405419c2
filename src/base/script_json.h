// Escapes JSON for a script element of an HTML page.
#pragma once

#include <string>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

// Return `json` with every "<" written as \u003c. The result parses to the same value and does not contain
// "</script" or "<!--".
inline std::string script_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace regard::base
