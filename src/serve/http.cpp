#include "serve/http.h"

namespace regard::serve {

std::string_view HttpRequest::field(std::string_view name) const {
  for (const auto& [key, value] : fields)
    if (key == name) return value;
  return {};
}

}  // namespace regard::serve
