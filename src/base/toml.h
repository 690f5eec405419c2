// TOML parsing with errors that name file and line. Values are read with toml++.
#pragma once

#include <string>
#include <string_view>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "base/namespaces.h"
#include "regard/error.h"

namespace regard::base {

// Parse the text as a table. Throws bad_file with the line of the first error, or with the byte if the text
// is not UTF-8.
toml::table parse_toml(std::string_view text, const std::string& file);
// Parse a file of at most 16 MiB. Throws as parse_toml() and read_file() do.
toml::table read_toml(const std::string& path);

// Return the location of a value from parse_toml(), for messages.
Place place_of(const toml::node& node, const std::string& file);

// Return a short description of a value for messages: `the string "abc"`, `the number 1.5`, `a table`.
std::string describe(const toml::node& node);

}  // namespace regard::base
