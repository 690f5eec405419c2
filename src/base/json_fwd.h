// Declares Json as an incomplete type, for headers that only name the type. base/json.h has the complete
// type.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/namespaces.h"

namespace regard::base {

// JSON objects that keep the order of their keys. Lookup takes time proportional to the number of keys:
// iterate over large objects such as vocabularies instead of looking up keys.
using Json = nlohmann::ordered_json;

}  // namespace regard::base
