// Names of activation functions in configurations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/namespaces.h"
#include "kernels/gemm.h"

namespace regard::nn {

// Return all names: relu, gelu, gelu_tanh, silu, tanh, sigmoid and quick_gelu.
const std::vector<std::string>& activation_names();

kernels::Activation activation_of(std::string_view name);  // throws usage if the name is unknown

}  // namespace regard::nn
