// Exact match of texts, compared word by word.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace regard::metrics {

// Return true if both texts have the same words, which are separated by white space.
bool same_words(std::string_view a, std::string_view b);

// Return the fraction of texts that have the same words as their reference. Throws usage if the numbers of
// texts and references differ, or there are none.
double exact_match(std::span<const std::string> texts, std::span<const std::string> references);

}  // namespace regard::metrics
