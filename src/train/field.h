// Field: one key of a run file. A list of fields is the complete schema, used for reading, --set, help and
// saving.
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
  std::string section{};  // "" for keys outside of all sections
  std::string key{};
  // points to the member of the configuration that holds the value; its initial value is the default
  FieldTarget target{};
  std::string unit{};  // "" if the value has no unit
  std::string meaning{};
  double low = -std::numeric_limits<double>::infinity();  // allowed range of numbers
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};  // allowed strings; empty allows any
  bool may_change = false;             // true if a resumed run may change the value
  std::vector<std::string> tasks{};    // the tasks that use the key; empty means all

  bool applies_to(const std::string& task) const {
    return tasks.empty() || std::find(tasks.begin(), tasks.end(), task) != tasks.end();
  }

  std::string name() const { return section.empty() ? key : section + "." + key; }
};

// A key that was set, and the place that sets it.
struct GivenKey {
  std::string name;
  Place place;
};

// Set the fields named in `table`, those outside of sections first, and return their keys. Throws bad_file
// with file and line if a section or key is unknown (naming the nearest key of the task), or if a value has
// the wrong type, is out of range or is not among the choices.
std::vector<GivenKey> read_fields(const std::vector<Field>& fields, const toml::table& table,
                                  const std::string& file);

// Apply one override "section.key=value". The value is TOML or an unquoted string. Throws usage.
GivenKey set_field(const std::vector<Field>& fields, const std::string& assignment);

// returns null if the key is unknown
const Field* find_field(const std::vector<Field>& fields, const std::string& name);

std::string value_text(const Field& field);  // returns the value in TOML syntax
std::string fields_as_toml(const std::vector<Field>& fields);
// Like fields_as_toml(), with meaning, unit and choices of each key as a comment above it. Keys for which
// why_unused() returns a reason are commented out, with the reason.
std::string fields_as_help(const std::vector<Field>& fields,
                           const std::function<std::string(const Field&)>& why_unused);

}  // namespace regard::train
