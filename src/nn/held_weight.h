// Packing of weights that are held for inference only (Parameter::Held).
#pragma once

#include <span>

#include "base/namespaces.h"
#include "kernels/packed_matrix.h"
#include "ops/parameter.h"
#include "regard/error.h"

namespace regard::nn {

bool any_held(std::span<Parameter* const> parts);

// Return the error for recording gradients of a weight that is held for inference only.
Error held_weight_error();

// Return the number format in which inference computes matrix products with the weights `parts`
// (Parameter::Held).
kernels::Precision precision_of(std::span<Parameter* const> parts);

// Return the total size of the weights `parts` in bytes. A weight that is held for inference counts in its
// held dtype (int8: with the scale and the sum of weights of each output), any other weight as f32.
std::int64_t stored_bytes(std::span<Parameter* const> parts);

// Pack the weights `parts` into one matrix with all their outputs. The matrix has the common type of the
// weights, or f32 if their types differ. The unpacked values are then freed, and mapped pages are released.
// If `transposed` is true, there is one weight, stored as [in, out].
kernels::PackedMatrix pack_held(ThreadPool& pool, std::span<Parameter* const> parts, bool transposed);

}  // namespace regard::nn
