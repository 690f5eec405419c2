// Checks of texts on the command line.
#pragma once

#include <CLI/CLI.hpp>

#include "base/utf8.h"

namespace regard::cli {

// Return a check that the text is UTF-8.
inline CLI::Validator valid_text() {
  return {[](std::string& text) {
            const auto bad = utf8::first_bad_byte(text);
            return bad ? "the text is not UTF-8 (byte " + std::to_string(*bad) + ")" : std::string();
          },
          ""};
}

// Return a check that a value is not empty.
inline CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? "the value is empty" : std::string(); }, ""};
}

}  // namespace regard::cli
