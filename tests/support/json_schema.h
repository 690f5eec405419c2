// A check of JSON against a JSON schema, for the keywords that docs/capture.schema.json uses.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/namespaces.h"

namespace regard::testing {

// Return a message with the location for each violation, or an empty list if `value` matches. Keywords: $ref
// to #/$defs, type, required, properties, additionalProperties (false), items, enum, const, minimum, anyOf.
// Throws std::runtime_error for another keyword, so that no rule of a schema is ignored.
std::vector<std::string> schema_violations(const nlohmann::json& value, const nlohmann::json& schema);

}  // namespace regard::testing
