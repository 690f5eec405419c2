#include "ops/check.h"

namespace regard::ops {

Error shape_error(std::string_view operation, std::string_view why, std::initializer_list<Named> inputs) {
  Error error = usage_error(std::string(operation) + ": " + std::string(why));
  std::string shapes;
  for (const Named& input : inputs) {
    if (!shapes.empty()) shapes += ", ";
    shapes += std::string(input.name) + " ";
    shapes += input.variable == nullptr ? "absent" : input.variable->value.shape().text();
  }
  error.found(shapes);
  return error;
}

void require_matrix(std::string_view operation, std::string_view name, Var x) {
  if (x == nullptr || x->value.dtype() != DType::f32 || x->value.shape().rank() != 2)
    throw shape_error(operation, std::string(name) + " must be an f32 matrix [rows, features]", {{name, x}});
}

void require_contiguous(std::string_view operation, std::string_view name, Var x) {
  if (x == nullptr || x->value.dtype() != DType::f32 || !x->value.contiguous())
    throw shape_error(operation, std::string(name) + " must be f32 and contiguous", {{name, x}});
}

void require_vector(std::string_view operation, std::string_view name, Var x, std::int64_t size) {
  if (x == nullptr) return;
  if (x->value.dtype() != DType::f32 || x->value.shape().rank() != 1 || x->value.elements() != size)
    throw shape_error(operation, std::string(name) + " must be an f32 vector of " + std::to_string(size),
                      {{name, x}});
}

void require_ids(std::string_view operation, std::span<const std::int32_t> ids, std::int64_t bound,
                 std::int32_t allowed) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if ((ids[i] < 0 || ids[i] >= bound) && (ids[i] != allowed || allowed >= 0))
      throw input_error(std::string(operation) + ": id " + std::to_string(ids[i]) + " at index " +
                        std::to_string(i) + " is out of range")
          .expected("ids from 0 to " + std::to_string(bound - 1));
}

void require_ragged(std::string_view operation, const Ragged& shape, std::int64_t tokens) {
  const auto wrong = [&](const std::string& why) {
    return usage_error(std::string(operation) + ": the ragged batch " + why);
  };
  if (shape.offsets.empty() || shape.offsets.front() != 0) throw wrong("must have offsets that begin at 0");
  for (std::size_t s = 0; s + 1 < shape.offsets.size(); ++s)
    if (shape.offsets[s + 1] < shape.offsets[s]) throw wrong("has decreasing offsets");
  if (shape.tokens() != tokens)
    throw wrong("does not end at the number of values")
        .found(std::to_string(shape.tokens()))
        .expected(std::to_string(tokens));
  if (static_cast<std::int64_t>(shape.positions.size()) != tokens ||
      static_cast<std::int64_t>(shape.sequence_index.size()) != tokens)
    throw wrong("must have a position and a sequence index for each token")
        .found(std::to_string(shape.positions.size()) + " and " + std::to_string(shape.sequence_index.size()))
        .expected(std::to_string(tokens));
}

}  // namespace regard::ops
