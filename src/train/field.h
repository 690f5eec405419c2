// Field: one key of a run file. A list of fields is the complete schema of run files; it is used for reading,
// --set, help and saving.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/toml.h"

namespace regard::train {

using FieldTarget = std::variant<bool*, std::int64_t*, double*, std::string*, std::vector<std::string>*,
                                 std::vector<double>*>;

struct Field {
  std::string section{};  // name of the section; "" for a key outside all sections
  std::string key{};
  // pointer to the member of the configuration that holds the value; the member's initial value is the
  // default
  FieldTarget target{};
  std::string unit{};  // unit of the value; "" if it has none
  std::string meaning{};
  double low = -std::numeric_limits<double>::infinity();  // allowed range of numbers
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};  // allowed strings; empty means that any string is allowed
  bool may_change = false;             // true if a resumed run may change the value
  std::vector<std::string> tasks{};    // tasks that use the key; empty means all

  bool applies_to(const std::string& task) const {
    return tasks.empty() || std::find(tasks.begin(), tasks.end(), task) != tasks.end();
  }

  std::string name() const { return section.empty() ? key : section + "." + key; }
};

// A key that was set, and the file and line or the --set argument that set it.
struct GivenKey {
  std::string name;
  Place place;
};

// Set the fields named in `table` and return their keys. Keys outside all sections are set first. Throws
// bad_file with file and line if a section or key is unknown; the message contains the nearest key of the
// task. Throws bad_file with file and line if a value has the wrong type, is out of range or is not one of
// the choices.
std::vector<GivenKey> read_fields(const std::vector<Field>& fields, const toml::table& table,
                                  const std::string& file);

// Apply one override "section.key=value". The value is TOML or a string without quotes. Throws usage if the
// key is unknown or the value is invalid.
GivenKey set_field(const std::vector<Field>& fields, const std::string& assignment);

// return the field of a key; null if the key is unknown
const Field* find_field(const std::vector<Field>& fields, const std::string& name);

// Return the field whose full name ("section.key") is `name`. If it does not exist, return all fields of the
// section `name`. If there is no such section, return all fields with the key `name`. Throws usage if nothing
// matches.
std::vector<Field> named_fields(const std::vector<Field>& fields, const std::string& name);

std::string value_text(const Field& field);  // return the value in TOML syntax
std::string fields_as_toml(const std::vector<Field>& fields);
// The same as fields_as_toml(), with meaning, unit and choices as a comment above each key. A key for which
// why_unused() returns a reason is commented out, and the reason is added.
std::string fields_as_help(const std::vector<Field>& fields,
                           const std::function<std::string(const Field&)>& why_unused);

}  // namespace regard::train
