#include "ops/check.h"

namespace regard::ops {

std::string described(const Tensor& value) {
  const std::string dtype = value.dtype() == DType::f32 ? "" : std::string(name_of(value.dtype())) + " ";
  return dtype + value.shape().text() + (value.contiguous() ? "" : " not contiguous");
}

Error shape_error(std::string_view operation, std::string_view why, std::initializer_list<Named> inputs) {
  Error error = usage_error(std::string(operation) + ": " + std::string(why));
  std::string shapes;
  for (const Named& input : inputs) {
    if (!shapes.empty()) shapes += ", ";
    shapes += std::string(input.name) + " ";
    shapes += input.variable == nullptr ? "absent" : described(input.variable->value);
  }
  error.found(shapes);
  return error;
}

void require_matrix(std::string_view operation, std::string_view name, Var x) {
  if (x == nullptr || x->value.dtype() != DType::f32 || x->value.shape().rank() != 2)
    throw shape_error(operation, std::string(name) + " is not an f32 matrix", {{name, x}})
        .expected("f32 [rows, features]");
}

void require_contiguous(std::string_view operation, std::string_view name, Var x) {
  if (x == nullptr || x->value.dtype() != DType::f32 || !x->value.contiguous())
    throw shape_error(operation, std::string(name) + " is not contiguous f32", {{name, x}})
        .expected("f32, contiguous");
}

void require_vector(std::string_view operation, std::string_view name, Var x, std::int64_t size) {
  if (x == nullptr) return;
  if (x->value.dtype() != DType::f32 || x->value.shape().rank() != 1 || x->value.elements() != size)
    throw shape_error(operation, std::string(name) + " is not an f32 vector of the required size",
                      {{name, x}})
        .expected("f32 [" + std::to_string(size) + "]");
}

void require_equal_columns(std::string_view operation, const Named& first, const Named& second) {
  if (first.variable->value.columns() == second.variable->value.columns()) return;
  throw shape_error(
      operation,
      std::string(first.name) + " and " + std::string(second.name) + " differ in the number of features",
      {first, second})
      .expected("equal numbers of features");
}

void require_ids(std::string_view operation, std::span<const std::int32_t> ids, std::int64_t bound,
                 std::int32_t allowed) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if ((ids[i] < 0 || ids[i] >= bound) && (ids[i] != allowed || allowed >= 0))
      throw input_error(std::string(operation) + ": the id at index " + std::to_string(i) +
                        " is out of range")
          .found("id " + std::to_string(ids[i]))
          .expected("ids from 0 to " + std::to_string(bound - 1));
}

void require_ragged(std::string_view operation, const Ragged& shape, std::int64_t tokens) {
  const auto wrong = [&](const std::string& why) {
    return usage_error(std::string(operation) + ": invalid ragged batch: " + why);
  };
  if (shape.offsets.empty() || shape.offsets.front() != 0)
    throw wrong("the first offset is not 0")
        .found(shape.offsets.empty() ? "no offsets" : std::to_string(shape.offsets.front()))
        .expected("0");
  for (std::size_t s = 0; s + 1 < shape.offsets.size(); ++s)
    if (shape.offsets[s + 1] < shape.offsets[s])
      throw wrong("the offsets decrease after sequence " + std::to_string(s))
          .found(std::to_string(shape.offsets[s + 1]))
          .expected("at least " + std::to_string(shape.offsets[s]));
  if (shape.tokens() != tokens)
    throw wrong("the last offset is not the number of values")
        .found(std::to_string(shape.tokens()))
        .expected(std::to_string(tokens));
  if (static_cast<std::int64_t>(shape.positions.size()) != tokens ||
      static_cast<std::int64_t>(shape.sequence_index.size()) != tokens)
    throw wrong("the positions or sequence indices do not match the tokens")
        .found(std::to_string(shape.positions.size()) + " positions and " +
               std::to_string(shape.sequence_index.size()) + " sequence indices")
        .expected(std::to_string(tokens) + " of each");
}

}  // namespace regard::ops
