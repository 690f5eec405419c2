#include "support/json_schema.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace regard::testing {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  throw std::runtime_error("unknown type " + type);
}

class Check {
 public:
  explicit Check(const json& root) : root_(root) {}

  void check(const json& value, const json& schema, const std::string& place) {
    known_keywords(schema);
    if (schema.contains("$ref")) check(value, definition(schema["$ref"]), place);
    if (schema.contains("anyOf")) any_of(value, schema["anyOf"], place);
    if (schema.contains("const") && value != schema["const"])
      fail(place, "expected " + schema["const"].dump());
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      fail(place, value.dump() + " is not in the enum");
    if (schema.contains("minimum") && value.is_number() && value < schema["minimum"])
      fail(place, value.dump() + " is below the minimum");
    if (!schema.contains("type")) return;
    if (!has_type(value, schema["type"]))
      return fail(place, "expected " + schema["type"].get<std::string>() + ", found " + value.type_name());
    if (value.is_object()) object(value, schema, place);
    if (value.is_array() && schema.contains("items"))
      for (std::size_t i = 0; i < value.size(); ++i)
        check(value[i], schema["items"], place + "[" + std::to_string(i) + "]");
  }

  std::vector<std::string> found;

 private:
  void fail(const std::string& place, const std::string& what) { found.push_back(place + ": " + what); }

  static void known_keywords(const json& schema) {
    static const std::set<std::string> known{
        "$schema",    "title", "description", "$defs", "$ref",    "type",  "required",
        "properties", "items", "enum",        "const", "minimum", "anyOf", "additionalProperties"};
    for (const auto& [key, rule] : schema.items())
      if (known.count(key) == 0) throw std::runtime_error("unknown keyword " + key);
  }

  const json& definition(const std::string& reference) const {
    if (reference == "#") return root_;
    return root_.at("$defs").at(reference.substr(std::string("#/$defs/").size()));
  }

  void any_of(const json& value, const json& schemas, const std::string& place) {
    std::vector<std::string> reasons;
    for (const json& one : schemas) {
      Check alone(root_);
      alone.check(value, one, place);
      if (alone.found.empty()) return;
      reasons.push_back(alone.found.front());
    }
    fail(place, "no alternative fits: " + json(reasons).dump());
  }

  void object(const json& value, const json& schema, const std::string& place) {
    for (const json& key : schema.value("required", json::array()))
      if (!value.contains(key)) fail(place, "has no " + key.get<std::string>());
    const json properties = schema.value("properties", json::object());
    for (const auto& [key, part] : value.items()) {
      if (properties.contains(key))
        check(part, properties[key], place + "." + key);
      else if (schema.contains("additionalProperties"))
        fail(place, "unknown key " + key);
    }
  }

  const json& root_;
};

}  // namespace

std::vector<std::string> schema_violations(const json& value, const json& schema) {
  Check check(schema);
  check.check(value, schema, "$");
  return check.found;
}

}  // namespace regard::testing
