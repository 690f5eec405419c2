#include "train/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/nearest.h"

namespace regard::train {
namespace {

// The origin of a value: the kind of error to throw if the value is invalid, and the file and line of the
// value.
struct Source {
  ErrorKind kind;
  Place place;
  Error error(const std::string& message) const { return Error(kind, message, place); }
};

std::string expected_type(const Field& field) {
  struct Namer {
    std::string operator()(const bool*) const { return "true or false"; }
    std::string operator()(const std::int64_t*) const { return "an integer"; }
    std::string operator()(const double*) const { return "a number"; }
    std::string operator()(const std::string*) const { return "a string"; }
    std::string operator()(const std::vector<std::string>*) const { return "an array of strings"; }
    std::string operator()(const std::vector<double>*) const { return "an array of numbers"; }
  };
  return std::visit(Namer{}, field.target);
}

Error wrong_type(const Field& field, const toml::node& node, const Source& source) {
  return source.error("'" + field.name() + "' has the wrong type")
      .found(describe(node))
      .expected(expected_type(field));
}

void check_range(const Field& field, double value, const Source& source) {
  if (value >= field.low && value <= field.high) return;
  std::string expected;
  if (std::isinf(field.high)) {
    expected = fmt::format("at least {}", field.low);
  } else {
    expected = fmt::format("{} to {}", field.low, field.high);
  }
  throw source.error("'" + field.name() + "' is out of range")
      .found(fmt::format("{}", value))
      .expected(expected);
}

void check_choice(const Field& field, const std::string& value, const Source& source) {
  if (field.choices.empty() ||
      std::find(field.choices.begin(), field.choices.end(), value) != field.choices.end())
    return;
  const std::string_view near = nearest(value, field.choices);
  Error error = source.error("'" + field.name() + "' has an invalid value '" + value + "'");
  error.expected(fmt::format("one of {}", fmt::join(field.choices, ", ")));
  if (!near.empty()) error.remedy(fmt::format("Did you mean '{}'?", near));
  throw error;
}

// Sets the target of a field to a TOML value.
struct Setter {
  const Field& field;
  const toml::node& node;
  const Source& source;

  void operator()(bool* target) const {
    const auto* value = node.as_boolean();
    if (value == nullptr) throw wrong_type(field, node, source);
    *target = value->get();
  }
  void operator()(std::int64_t* target) const {
    const auto* value = node.as_integer();
    if (value == nullptr) throw wrong_type(field, node, source);
    check_range(field, static_cast<double>(value->get()), source);
    *target = value->get();
  }
  double number(const toml::node& item) const {
    if (const auto* integer = item.as_integer()) return static_cast<double>(integer->get());
    const auto* value = item.as_floating_point();
    if (value == nullptr || !std::isfinite(value->get())) throw wrong_type(field, node, source);
    return value->get();
  }
  void operator()(double* target) const {
    const double value = number(node);
    check_range(field, value, source);
    *target = value;
  }
  std::string text(const toml::node& item) const {
    const auto* integer = item.as_integer();
    if (integer != nullptr && field.key.ends_with("columns")) return std::to_string(integer->get());
    const auto* value = item.as_string();
    if (value == nullptr) throw wrong_type(field, node, source);
    return value->get();
  }
  void operator()(std::string* target) const {
    if (node.as_string() == nullptr) throw wrong_type(field, node, source);
    check_choice(field, text(node), source);
    *target = text(node);
  }
  void operator()(std::vector<std::string>* target) const {
    std::vector<std::string> values;
    if (const auto* array = node.as_array()) {
      for (const toml::node& item : *array) values.push_back(text(item));
    } else {
      values.push_back(text(node));
    }
    for (const std::string& value : values) check_choice(field, value, source);
    *target = std::move(values);
  }
  void operator()(std::vector<double>* target) const {
    const auto* array = node.as_array();
    if (array == nullptr) throw wrong_type(field, node, source);
    std::vector<double> values;
    for (const toml::node& item : *array) values.push_back(number(item));
    for (const double value : values) check_range(field, value, source);
    *target = std::move(values);
  }
};

const Field* find(const std::vector<Field>& fields, std::string_view section, std::string_view key) {
  for (const Field& field : fields)
    if (field.section == section && field.key == key) return &field;
  return nullptr;
}

// Return the current value of the field "task"; "" if the schema has no such field.
std::string task_of(const std::vector<Field>& fields) {
  const Field* task = find(fields, "", "task");
  const auto* value = task == nullptr ? nullptr : std::get_if<std::string*>(&task->target);
  return value == nullptr ? "" : **value;
}

Error unknown_key(const std::vector<Field>& fields, const std::string& section, const std::string& key,
                  const Source& source) {
  std::vector<std::string> here;
  std::string elsewhere;
  const std::string task = task_of(fields);
  for (const Field& field : fields) {
    if (!field.applies_to(task)) continue;
    if (field.section == section) here.push_back(field.key);
    if (field.key == key) elsewhere = field.name();
  }
  Error error = source.error("unknown key '" + (section.empty() ? key : section + "." + key) + "'");
  const std::string_view near = nearest(key, here);
  if (!near.empty()) {
    error.remedy(fmt::format("Did you mean '{}'? 'regard train --help-config' lists every key", near));
  } else if (!elsewhere.empty()) {
    error.remedy("Did you mean '" + elsewhere + "'?");
  } else {
    error.remedy("'regard train --help-config' lists every key");
  }
  return error;
}

bool is_section(const std::vector<Field>& fields, std::string_view name) {
  return !name.empty() &&
         std::any_of(fields.begin(), fields.end(), [&](const Field& field) { return field.section == name; });
}

void read_keys(const std::vector<Field>& fields, const std::string& section, const toml::table& table,
               const std::string& file, std::vector<GivenKey>& given) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (section.empty() && (node.is_table() || is_section(fields, name))) continue;
    const Source source{ErrorKind::bad_file, place_of(node, file)};
    const Field* field = find(fields, section, name);
    if (field == nullptr) throw unknown_key(fields, section, name, source);
    std::visit(Setter{*field, node, source}, field->target);
    given.push_back({field->name(), source.place});
  }
}

Error unknown_section(const std::vector<Field>& fields, const std::string& name, const Source& source) {
  std::vector<std::string> sections;
  for (const Field& known : fields) sections.push_back(known.section);
  std::erase(sections, "");
  sections.erase(std::unique(sections.begin(), sections.end()), sections.end());
  const std::string_view near = nearest(name, sections);
  Error error = source.error("unknown section [" + name + "]");
  error.expected(fmt::format("one of [{}]", fmt::join(sections, "], [")));
  if (!near.empty()) error.remedy(fmt::format("Did you mean [{}]?", near));
  return error;
}

std::string quoted(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      escaped += c;
    }
  }
  return '"' + escaped + '"';
}

// Return the shortest text that TOML parses to the same float.
std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Wrap a text into lines of at most 100 columns that begin with "# ".
std::string as_comment(const std::string& text) {
  constexpr std::size_t kColumns = 100;
  std::string comment, line = "#";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (line.size() > 1 && line.size() + 1 + end - begin > kColumns) {
      comment += line + "\n";
      line = "#";
    }
    line += " " + text.substr(begin, end - begin);
    begin = end + 1;
  }
  return comment + line + "\n";
}

}  // namespace

std::vector<GivenKey> read_fields(const std::vector<Field>& fields, const toml::table& table,
                                  const std::string& file) {
  std::vector<GivenKey> given;
  read_keys(fields, "", table, file, given);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const Source source{ErrorKind::bad_file, place_of(node, file)};
    if (is_section(fields, name) && !node.is_table())
      throw source.error("'" + name + "' has the wrong type")
          .found(describe(node))
          .expected("a section [" + name + "]");
    if (!node.is_table()) continue;
    if (!is_section(fields, name)) throw unknown_section(fields, name, source);
    read_keys(fields, name, *node.as_table(), file, given);
  }
  return given;
}

const Field* find_field(const std::vector<Field>& fields, const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return find(fields, "", name);
  return find(fields, name.substr(0, dot), name.substr(dot + 1));
}

GivenKey set_field(const std::vector<Field>& fields, const std::string& assignment) {
  const Source source{ErrorKind::usage, {"--set " + assignment}};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos)
    throw source.error("an override has no value").expected("section.key=value");
  const std::string name = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  const std::size_t dot = name.find('.');
  const Field* field = find_field(fields, name);
  if (field == nullptr)
    throw unknown_key(fields, dot == std::string::npos ? "" : name.substr(0, dot),
                      dot == std::string::npos ? name : name.substr(dot + 1), source);
  const bool is_text = std::holds_alternative<std::string*>(field->target);
  toml::table table;
  try {
    table = parse_toml("value = " + value, source.place.file);
  } catch (const Error&) {
    table.insert("value", value);
  }
  if (is_text && !table.get("value")->is_string()) table.insert_or_assign("value", value);
  std::visit(Setter{*field, *table.get("value"), source}, field->target);
  return {field->name(), source.place};
}

std::vector<Field> named_fields(const std::vector<Field>& fields, const std::string& name) {
  const auto select = [&](auto&& fits) {
    std::vector<Field> found;
    std::copy_if(fields.begin(), fields.end(), std::back_inserter(found), fits);
    return found;
  };
  std::vector<Field> found = select([&](const Field& field) { return field.name() == name; });
  if (found.empty()) found = select([&](const Field& field) { return field.section == name; });
  if (found.empty()) found = select([&](const Field& field) { return field.key == name; });
  if (!found.empty()) return found;
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.name());
  const std::string_view near = nearest(name, names);
  throw usage_error(fmt::format("unknown key '{}'", name))
      .remedy(near.empty() ? "'regard train --help-config' lists every key"
                           : fmt::format("Did you mean '{}'?", near));
}

std::string value_text(const Field& field) {
  struct Writer {
    std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
    std::string operator()(const std::int64_t* value) const { return std::to_string(*value); }
    std::string operator()(const double* value) const { return number_text(*value); }
    std::string operator()(const std::string* value) const { return quoted(*value); }
    std::string operator()(const std::vector<std::string>* values) const {
      std::vector<std::string> items;
      for (const std::string& value : *values) items.push_back(quoted(value));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    std::string operator()(const std::vector<double>* values) const {
      std::vector<std::string> items;
      for (const double value : *values) items.push_back(number_text(value));
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
  };
  return std::visit(Writer{}, field.target);
}

std::string fields_as_toml(const std::vector<Field>& fields) {
  std::string text, section;
  for (const Field& field : fields) {
    if (field.section != section) {
      section = field.section;
      text += fmt::format("\n[{}]\n", section);
    }
    text += fmt::format("{} = {}\n", field.key, value_text(field));
  }
  return text;
}

std::string fields_as_help(const std::vector<Field>& fields,
                           const std::function<std::string(const Field&)>& why_unused) {
  std::string text, section;
  for (const Field& field : fields) {
    if (field.section != section) {
      section = field.section;
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    std::string about = field.meaning;
    if (!field.unit.empty()) about += " Unit: " + field.unit + ".";
    if (!field.choices.empty()) about += fmt::format(" One of: {}.", fmt::join(field.choices, ", "));
    const std::string unused = why_unused(field);
    if (!unused.empty()) about += " Commented out: " + unused + ".";
    text += as_comment(about) +
            fmt::format("{}{} = {}\n", unused.empty() ? "" : "# ", field.key, value_text(field));
  }
  return text;
}

}  // namespace regard::train
