// Tercom's search for the number of edits, including phrase shifts, between two lines.
#pragma once

#include <cstdint>
#include <string_view>

namespace regard::metrics {

// Return the number of edits between two lines. Each character of the arguments is the id of a word
// (WordNumbers in metric_text.h).
std::int64_t edits_with_shifts(std::u32string_view hypothesis, std::u32string_view reference);

}  // namespace regard::metrics
