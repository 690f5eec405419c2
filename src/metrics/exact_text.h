// Exact match of texts, compared word by word.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace regard::metrics {

// Return true if both texts consist of the same words in the same order. Words are separated by white space.
bool same_words(std::string_view a, std::string_view b);

// Return the fraction of texts that have the same words as their reference. Throws usage if the numbers of
// texts and references differ, or if there are no texts.
double exact_match(std::span<const std::string> texts, std::span<const std::string> references);

}  // namespace regard::metrics
