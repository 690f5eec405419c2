// Texts that are equal word for word.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace regard::metrics {

// Return true if both texts have the same words, which are separated by white space.
bool same_words(std::string_view a, std::string_view b);

// The share of texts that have the words of their reference. Throws usage if the numbers of texts differ, or
// there is none.
double exact_match(std::span<const std::string> texts, std::span<const std::string> references);

}  // namespace regard::metrics
