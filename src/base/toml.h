// TOML with errors that name file and line. Values are read through toml++ itself.
#pragma once

#include <string>
#include <string_view>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "regard/error.h"

namespace regard {

// The text as a table. Throws bad_file with the line of the first mistake.
toml::table parse_toml(std::string_view text, const std::string& file);
// The same from a file of at most 16 MiB.
toml::table read_toml(const std::string& path);

// The place of a value that parse_toml() read, for messages about it.
Place place_of(const toml::node& node, const std::string& file);

// A short description of a value for messages: `the string "abc"`, `the number 1.5`, `a table`.
std::string describe(const toml::node& node);

}  // namespace regard
