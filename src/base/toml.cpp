#include "base/toml.h"

#include <sstream>

#include "base/file.h"
#include "base/utf8.h"

namespace regard::base {

toml::table parse_toml(std::string_view text, const std::string& file) {
  if (const auto bad = utf8::first_bad_byte(text))
    throw Error(ErrorKind::bad_file, "the file is not UTF-8", {file, -1, static_cast<std::int64_t>(*bad)})
        .remedy("Convert the file to UTF-8");
  try {
    return toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::bad_file, "invalid TOML: " + std::string(error.description()),
                {file, static_cast<std::int64_t>(error.source().begin.line), -1});
  }
}

toml::table read_toml(const std::string& path) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 24;
  return parse_toml(read_file(path, kMaxBytes), path);
}

Place place_of(const toml::node& node, const std::string& file) {
  const auto line = node.source().begin.line;
  return {file, line > 0 ? static_cast<std::int64_t>(line) : -1, -1};
}

std::string describe(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  if (const auto* text = node.as_string()) return "the string \"" + text->get() + "\"";
  std::ostringstream text;
  node.visit([&text](const auto& value) {
    if constexpr (toml::is_value<decltype(value)>) text << value;
  });
  if (node.is_number()) return "the number " + text.str();
  return text.str();
}

}  // namespace regard::base
