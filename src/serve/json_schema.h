// The part of JSON Schema (draft 2020-12) that the routes use: type, enum, minimum, maximum, minLength,
// maxLength, minItems, maxItems, items, properties, required, additionalProperties, maxProperties and anyOf.
// Other keywords are not checked; they only inform readers of the OpenAPI document.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace regard::serve {

struct SchemaViolation {
  // path of the invalid member, such as "messages[0].role"; empty if the whole value is invalid
  std::string place;
  std::string message;  // message, such as "expected a string, found the number 3"
};

// Return the first violation of the schema, or nullopt if the value is valid.
std::optional<SchemaViolation> violation_of(const Json& schema, const Json& value);

// --- schemas ---

namespace schema {

Json text(std::int64_t max_length = 1048576);
Json integer(std::int64_t low, std::int64_t high);
Json number(double low, double high);
Json boolean();
Json one_of(std::initializer_list<const char*> values);  // return the schema of an enum of strings
Json array(Json items, std::int64_t low, std::int64_t high);
Json any_of(std::initializer_list<Json> schemas);
// Each field is {"name", schema}. A field that is not in `required` may be absent or null.
Json object(std::initializer_list<std::pair<const char*, Json>> fields,
            std::initializer_list<const char*> required = {});
Json described(Json schema, const char* description);

}  // namespace schema
}  // namespace regard::serve
