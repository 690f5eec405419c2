// Makes text from files safe to print on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace regard {

// Return the text with control characters (C0, DEL, C1) escaped, cut with a note of its length if it is
// longer than `longest` bytes.
std::string printable(std::string_view text, std::size_t longest = 600);

}  // namespace regard
