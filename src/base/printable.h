// Makes text from files safe to print on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

// Return the text with control characters (C0, DEL, C1) escaped. Text longer than `longest` bytes is cut, and
// the length of the whole text is appended.
std::string printable(std::string_view text, std::size_t longest = 600);

}  // namespace regard::base
