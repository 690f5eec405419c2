// Collect the parameters of a module from its layers.
#pragma once

#include <vector>

#include "base/namespaces.h"
#include "ops/parameter.h"

namespace regard::nn {

// Append the parameters of each of `parts`, in the order of the arguments. A part is a pointer or an
// optional, which may be empty.
template <class... Parts>
void collect_parts(std::vector<Parameter*>& parameters, const Parts&... parts) {
  ((parts ? parts->collect(parameters) : void()), ...);
}

}  // namespace regard::nn
