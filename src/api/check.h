// What the public functions check of their arguments. All of it throws usage.
#pragma once

#include <string>

#include "regard/error.h"
#include "regard/tensor.h"

namespace regard::api {

// There is memory behind it.
void require_tensor(const char* function, const char* name, const Tensor& tensor);

// There is memory behind it, and the numbers are f32.
void require_f32(const char* function, const char* name, const Tensor& tensor);

// f32 [rows, columns].
void require_matrix(const char* function, const char* name, const Tensor& tensor);

// Neither NaN nor infinite, and not below `least`.
void require_number(const char* function, const char* name, double value, double least);

Error moved_from(const char* type);

// What is behind a handle; a handle that was moved from has nothing.
template <class Pointer>
auto& state_of(const Pointer& state, const char* type) {
  if (state == nullptr) throw moved_from(type);
  return *state;
}

}  // namespace regard::api
