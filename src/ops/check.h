// What operations say when their inputs do not fit together: the operation, each shape, and what it takes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ops/tape.h"
#include "regard/error.h"

namespace regard::ops {

struct Named {
  std::string_view name;
  Var variable;  // null: absent
};

// usage: "linear: WHY (found x [3, 4], weight [2, 5])".
Error shape_error(std::string_view operation, std::string_view why, std::initializer_list<Named> inputs);

// Throws unless x is f32 of rank 2.
void require_matrix(std::string_view operation, std::string_view name, Var x);

// Throws unless x is f32 without gaps between its rows.
void require_contiguous(std::string_view operation, std::string_view name, Var x);

// Throws unless the absent or f32 vector has `size` elements.
void require_vector(std::string_view operation, std::string_view name, Var x, std::int64_t size);

// Throws naming the first id outside [0, bound), except `allowed`.
void require_ids(std::string_view operation, std::span<const std::int32_t> ids, std::int64_t bound,
                 std::int32_t allowed = 0);

// Throws unless the batch's offsets begin at 0, never fall and end at `tokens`, and every token has its
// position and its sequence's index.
void require_ragged(std::string_view operation, const Ragged& shape, std::int64_t tokens);

}  // namespace regard::ops
