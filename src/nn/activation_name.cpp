#include "nn/activation_name.h"

#include <utility>

#include "base/names.h"
#include "regard/error.h"

namespace regard::nn {
namespace {

using kernels::Activation;

constexpr std::pair<const char*, Activation> kNames[] = {{"relu", Activation::relu},
                                                         {"gelu", Activation::gelu},
                                                         {"gelu_tanh", Activation::gelu_tanh},
                                                         {"silu", Activation::silu},
                                                         {"tanh", Activation::tanh},
                                                         {"sigmoid", Activation::sigmoid},
                                                         {"quick_gelu", Activation::quick_gelu}};

}  // namespace

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = names_of(kNames);
  return names;
}

kernels::Activation activation_of(std::string_view name) {
  std::string known;
  for (const auto& [candidate, activation] : kNames) {
    if (name == candidate) return activation;
    known += (known.empty() ? "" : ", ") + std::string(candidate);
  }
  throw usage_error("unknown activation").found(std::string(name)).expected(known);
}

}  // namespace regard::nn
