// Field: one key of a run file. A list of fields is all that is known about the schema; reading, --set, help
// and saving walk the same list.
#pragma once

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
  std::string section{};  // "" for keys outside every section
  std::string key{};
  FieldTarget target{};  // its value now, the default in a fresh configuration
  std::string unit{};    // "" where there is none
  std::string meaning{};
  double low = -std::numeric_limits<double>::infinity();  // numbers: least and greatest allowed
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};  // strings: what they may be; empty: anything
  bool may_change = false;             // a resumed run may have another value
  std::string task{};                  // the only one that reads it; "": all

  std::string name() const { return section.empty() ? key : section + "." + key; }
};

// A key that was set, and where.
struct GivenKey {
  std::string name;
  Place place;
};

// Sets each field that `table` names, those outside of sections first, and returns them. Throws bad_file with
// file and line: unknown section or key (naming the nearest that the task reads), wrong type, out of range.
std::vector<GivenKey> read_fields(const std::vector<Field>& fields, const toml::table& table,
                                  const std::string& file);

// One override "section.key=value"; the value is TOML, or a bare word for a string. Throws usage.
GivenKey set_field(const std::vector<Field>& fields, const std::string& assignment);

const Field* find_field(const std::vector<Field>& fields, const std::string& name);  // null: no such key

std::string value_text(const Field& field);  // as TOML writes it
std::string fields_as_toml(const std::vector<Field>& fields);
// The same with unit, meaning and choices of each key as comments above it. Keys for which why_unused()
// returns a reason are commented out, with the reason.
std::string fields_as_help(const std::vector<Field>& fields,
                           const std::function<std::string(const Field&)>& why_unused);

}  // namespace regard::train
