// JSON as text.
#pragma once

#include <string>

#include "base/namespaces.h"

namespace regard::base {

// Return `json` (Json or FloatJson) on one line. Bytes of strings that are not UTF-8 become U+FFFD.
template <class AnyJson>
std::string json_text(const AnyJson& json) {
  return json.dump(-1, ' ', false, AnyJson::error_handler_t::replace);
}

}  // namespace regard::base
