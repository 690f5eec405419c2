// Checks of the inputs of operations. Errors name the operation, the shapes found and the expected shapes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "ops/tape.h"
#include "regard/error.h"

namespace regard::ops {

struct Named {
  std::string_view name;
  Var variable;  // the argument; null if it is absent
};

// Return a description such as "bf16 [3, 4] not contiguous". It has the dtype only if this is not f32, and
// the last two words only if the tensor is not contiguous.
std::string described(const Tensor& value);

// Return a usage error such as "linear: WHY (found x [3, 4], weight [2, 5])".
Error shape_error(std::string_view operation, std::string_view why, std::initializer_list<Named> inputs);

// Throw usage unless x is f32 of rank 2.
void require_matrix(std::string_view operation, std::string_view name, Var x);

// Throw usage unless x is f32 and contiguous.
void require_contiguous(std::string_view operation, std::string_view name, Var x);

// Throw usage unless x is null or an f32 vector of `size` elements.
void require_vector(std::string_view operation, std::string_view name, Var x, std::int64_t size);

// Throw usage unless both matrices have the same number of columns (features).
void require_equal_columns(std::string_view operation, const Named& first, const Named& second);

// Throw invalid_input, naming the id, if an id is outside [0, bound). If `allowed` is negative, an id equal
// to it is valid.
void require_ids(std::string_view operation, std::span<const std::int32_t> ids, std::int64_t bound,
                 std::int32_t allowed = 0);

// Throw usage unless the batch's offsets begin at 0, do not decrease and end at `tokens`, and every token has
// a position and a sequence index.
void require_ragged(std::string_view operation, const Ragged& shape, std::int64_t tokens);

}  // namespace regard::ops
