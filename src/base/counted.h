// Numbers with their noun, in the singular or the plural.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

// Return "1 word" or "2 words" for the noun "word". `plural` is needed for nouns whose plural is not the
// singular and "s".
template <std::integral Count>
std::string counted(Count count, std::string_view singular, std::string_view plural = {}) {
  std::string text = std::to_string(count) + ' ';
  if (count == 1 || plural.empty()) text += singular;
  if (count != 1) text += plural.empty() ? std::string_view("s") : plural;
  return text;
}

}  // namespace regard::base
