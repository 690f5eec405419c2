// Check that text on the command line is UTF-8.
#pragma once

#include <CLI/CLI.hpp>

#include "base/utf8.h"

namespace regard::cli {

inline CLI::Validator valid_text() {
  return {[](std::string& text) {
            const auto bad = utf8::first_bad_byte(text);
            return bad ? "the text is not UTF-8 (byte " + std::to_string(*bad) + ")" : std::string();
          },
          "TEXT"};
}

}  // namespace regard::cli
