#include "api/check.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace regard::api {
namespace {

Error wrong(const char* function, const char* name, const std::string& found, const std::string& expected) {
  return usage_error(fmt::format("{}: {} is invalid", function, name)).found(found).expected(expected);
}

std::string described(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + " " + tensor.shape().text();
}

}  // namespace

void require_tensor(const char* function, const char* name, const Tensor& tensor) {
  if (!tensor.defined())
    throw wrong(function, name, "a default-constructed or moved-from Tensor", "a tensor");
}

void require_f32(const char* function, const char* name, const Tensor& tensor) {
  require_tensor(function, name, tensor);
  if (tensor.dtype() != DType::f32) throw wrong(function, name, described(tensor), "f32");
}

void require_matrix(const char* function, const char* name, const Tensor& tensor) {
  require_f32(function, name, tensor);
  if (tensor.shape().rank() != 2)
    throw wrong(function, name, described(tensor), "an f32 matrix [rows, columns]");
}

void require_number(const char* function, const char* name, double value, double least) {
  if (!(std::isfinite(value) && value >= least))
    throw wrong(function, name, fmt::format("{}", value),
                least == std::numeric_limits<double>::lowest()
                    ? "a finite number"
                    : fmt::format("a finite number of at least {}", least));
}

Error moved_from(const char* type) {
  return usage_error(fmt::format("this {} was moved from and can no longer be used", type));
}

}  // namespace regard::api
