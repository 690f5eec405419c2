// Collects the parameters of the parts of a module.
#pragma once

#include <vector>

#include "base/namespaces.h"
#include "ops/parameter.h"

namespace regard::nn {

// Append the parameters of the parts, in this order. A part is a pointer or an optional value, which may be
// empty.
template <class... Parts>
void collect_parts(std::vector<Parameter*>& parameters, const Parts&... parts) {
  ((parts ? parts->collect(parameters) : void()), ...);
}

}  // namespace regard::nn
