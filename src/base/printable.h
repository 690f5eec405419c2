// Texts from files end up on terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace regard {

// The text with control characters (C0, DEL, C1) written as escapes, and cut with a note of its length if it
// is longer than `longest` bytes.
std::string printable(std::string_view text, std::size_t longest = 600);

}  // namespace regard
