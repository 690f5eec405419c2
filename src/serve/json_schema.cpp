#include "serve/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"

namespace regard::serve {
namespace {

using Violation = std::optional<SchemaViolation>;

// Return true for numbers without a fraction, even if written as 1.0 (JSON Schema, section 4.2.3).
bool is_integer(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return std::isfinite(number) && number == std::floor(number);
}

bool has_type(const std::string& type, const Json& value) {
  if (type == "string") return value.is_string();
  if (type == "integer") return is_integer(value);
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return type == "null" && value.is_null();
}

std::string expected_text(const Json& type) {
  if (type.is_string()) return type.get<std::string>();
  std::string text;
  for (const Json& one : type)
    if (one != "null") text += (text.empty() ? "" : " or ") + one.get<std::string>();
  return text;
}

Violation check_type(const Json& schema, const Json& value, const std::string& place) {
  const auto type = schema.find("type");
  if (type == schema.end()) return std::nullopt;
  const bool holds = type->is_string() ? has_type(type->get<std::string>(), value)
                                       : std::any_of(type->begin(), type->end(), [&](const Json& one) {
                                           return has_type(one.get<std::string>(), value);
                                         });
  if (holds) return std::nullopt;
  return SchemaViolation{place, "expected " + expected_text(*type) + ", found " + describe(value)};
}

// Check the limits of a number or of a count; `low` and `high` are the names of the limits in the schema,
// such as minItems and maxItems.
template <class Number>
Violation check_limits(const Json& schema, const char* low, const char* high, Number found,
                       const std::string& place, const char* unit) {
  if (const auto limit = schema.find(low); limit != schema.end() && found < limit->get<Number>())
    return SchemaViolation{place,
                           fmt::format("expected at least {}{}, found {}", limit->dump(), unit, found)};
  if (const auto limit = schema.find(high); limit != schema.end() && found > limit->get<Number>())
    return SchemaViolation{place, fmt::format("expected at most {}{}, found {}", limit->dump(), unit, found)};
  return std::nullopt;
}

Violation check(const Json& schema, const Json& value, const std::string& place);

Violation check_array(const Json& schema, const Json& value, const std::string& place) {
  if (const auto bad = check_limits(schema, "minItems", "maxItems", static_cast<std::int64_t>(value.size()),
                                    place, " items"))
    return bad;
  const auto items = schema.find("items");
  if (items == schema.end()) return std::nullopt;
  for (std::size_t i = 0; i < value.size(); ++i)
    if (const auto bad = check(*items, value[i], fmt::format("{}[{}]", place, i))) return bad;
  return std::nullopt;
}

Violation check_object(const Json& schema, const Json& value, const std::string& place) {
  if (const auto required = schema.find("required"); required != schema.end())
    for (const Json& name : *required)
      if (!value.contains(name.get<std::string>()))
        return SchemaViolation{place, "expected a member \"" + name.get<std::string>() + "\", found none"};
  if (const auto bad = check_limits(schema, "minProperties", "maxProperties",
                                    static_cast<std::int64_t>(value.size()), place, " members"))
    return bad;
  const auto properties = schema.find("properties");
  const auto additional = schema.find("additionalProperties");
  for (const auto& [name, member] : value.items()) {
    const std::string inner = place.empty() ? name : place + "." + name;
    const Json* rule = nullptr;
    if (properties != schema.end())
      if (const auto found = properties->find(name); found != properties->end()) rule = &*found;
    if (rule == nullptr && additional != schema.end()) {
      if (*additional == false) return SchemaViolation{inner, "unknown member"};
      if (additional->is_object()) rule = &*additional;
    }
    if (rule == nullptr) continue;
    if (const auto bad = check(*rule, member, inner)) return bad;
  }
  return std::nullopt;
}

Violation check_any(const Json& schema, const Json& value, const std::string& place) {
  const auto choices = schema.find("anyOf");
  if (choices == schema.end()) return std::nullopt;
  Violation closest;
  for (const Json& one : *choices) {
    Violation bad = check(one, value, place);
    if (!bad) return std::nullopt;
    // If no alternative is valid, return the violation with the longest path, because its alternative is most
    // likely the intended one.
    if (!closest || bad->place.size() > closest->place.size()) closest = std::move(bad);
  }
  return closest;
}

Violation check(const Json& schema, const Json& value, const std::string& place) {
  if (auto bad = check_type(schema, value, place)) return bad;
  if (const auto values = schema.find("enum"); values != schema.end())
    if (std::find(values->begin(), values->end(), value) == values->end())
      return SchemaViolation{place, "expected one of " + values->dump() + ", found " + describe(value)};
  if (value.is_number())
    if (auto bad = check_limits(schema, "minimum", "maximum", value.get<double>(), place, "")) return bad;
  if (value.is_string() && (schema.contains("minLength") || schema.contains("maxLength")))
    if (auto bad = check_limits(schema, "minLength", "maxLength",
                                static_cast<std::int64_t>(utf8::count(value.get_ref<const std::string&>())),
                                place, " characters"))
      return bad;
  if (value.is_array())
    if (auto bad = check_array(schema, value, place)) return bad;
  if (value.is_object())
    if (auto bad = check_object(schema, value, place)) return bad;
  return check_any(schema, value, place);
}

}  // namespace

std::optional<SchemaViolation> violation_of(const Json& schema, const Json& value) {
  return check(schema, value, "");
}

namespace schema {

Json text(std::int64_t max_length) {
  return {{"type", "string"}, {"maxLength", max_length}};
}
Json integer(std::int64_t low, std::int64_t high) {
  return {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
}
Json number(double low, double high) {
  return {{"type", "number"}, {"minimum", low}, {"maximum", high}};
}
Json boolean() {
  return {{"type", "boolean"}};
}
Json one_of(std::initializer_list<const char*> values) {
  Json result{{"type", "string"}, {"enum", Json::array()}};
  for (const char* value : values) result["enum"].push_back(value);
  return result;
}
Json array(Json items, std::int64_t low, std::int64_t high) {
  return {{"type", "array"}, {"items", std::move(items)}, {"minItems", low}, {"maxItems", high}};
}
Json any_of(std::initializer_list<Json> schemas) {
  Json result{{"anyOf", Json::array()}};
  for (const Json& one : schemas) result["anyOf"].push_back(one);
  return result;
}

Json object(std::initializer_list<std::pair<const char*, Json>> fields,
            std::initializer_list<const char*> required) {
  Json result{{"type", "object"}, {"properties", Json::object()}};
  for (const auto& [name, field] : fields) {
    Json schema = field;
    const bool needed = std::find(required.begin(), required.end(), std::string_view(name)) != required.end();
    if (!needed) {
      if (schema.contains("anyOf"))
        schema["anyOf"].push_back({{"type", "null"}});
      else if (schema.contains("type") && schema["type"].is_string())
        schema["type"] = Json::array({schema["type"], "null"});
      if (schema.contains("enum")) schema["enum"].push_back(nullptr);
    }
    result["properties"][name] = std::move(schema);
  }
  if (required.size() > 0) {
    result["required"] = Json::array();
    for (const char* name : required) result["required"].push_back(name);
  }
  return result;
}

Json described(Json schema, const char* description) {
  schema["description"] = description;
  return schema;
}

}  // namespace schema
}  // namespace regard::serve
