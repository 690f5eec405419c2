// Functions for tables of names: list the names in a table, and find the enumerator with a given name.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"

namespace regard::base {

// Return the names of a table whose entries are pairs of a name and a value.
template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.first);
  return names;
}

// Return the enumerator named `name`. `names` has one name for each enumerator, in order from 0.
template <class Enum>
std::optional<Enum> enumerator_named(std::span<const char* const> names, std::string_view name) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i]) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace regard::base
