// Parses a text that is one number.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

// Parse the whole text as one number in the format of std::from_chars: decimal, without white space or a
// leading '+'. Returns nullopt for any other text and for a number outside the range of the type.
template <class Number>
std::optional<Number> parse_number(std::string_view text) noexcept {
  Number number{};
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace regard::base
