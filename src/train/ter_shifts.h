// The edits between two lines of words, shifts included, as Tercom searches for them.
#pragma once

#include <cstdint>
#include <string_view>

namespace regard::train {

// Words are given as numbers (WordNumbers).
std::int64_t edits_with_shifts(std::u32string_view hypothesis, std::u32string_view reference);

}  // namespace regard::train
