// Argument checks of the public functions. A failed check throws an Error of kind usage.
#pragma once

#include <string>

#include "regard/error.h"
#include "regard/tensor.h"

namespace regard::api {

// Require a defined tensor.
void require_tensor(const char* function, const char* name, const Tensor& tensor);

// Require a defined f32 tensor.
void require_f32(const char* function, const char* name, const Tensor& tensor);

// Require an f32 tensor [rows, columns].
void require_matrix(const char* function, const char* name, const Tensor& tensor);

// Require a finite number of at least `least`.
void require_number(const char* function, const char* name, double value, double least);

Error moved_from(const char* type);

// Return the object to which a handle refers. Throws usage if the handle was moved from.
template <class Pointer>
auto& state_of(const Pointer& state, const char* type) {
  if (state == nullptr) throw moved_from(type);
  return *state;
}

}  // namespace regard::api
