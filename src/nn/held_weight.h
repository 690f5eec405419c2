// Packing of weights that are held for inference only (Parameter::Held).
#pragma once

#include <span>

#include "base/namespaces.h"
#include "kernels/packed_matrix.h"
#include "ops/parameter.h"
#include "regard/error.h"

namespace regard::nn {

bool any_held(std::span<Parameter* const> parts);

// Return the error for a pass that records gradients of a held weight.
Error held_weight_error();

// Return the precision of products with the parts (Parameter::Held).
kernels::Precision precision_of(std::span<Parameter* const> parts);

// Return the size of the parts in bytes. A held part counts in its held dtype (int8: with the scale and the
// sum of weights of each output), any other part as f32.
std::int64_t stored_bytes(std::span<Parameter* const> parts);

// Pack the outputs of all parts into one matrix; free the held numbers, or release their mapped pages. The
// matrix has the parts' common type, or f32 if they differ. If `transposed` is true, there is one part,
// stored as [in, out].
kernels::PackedMatrix pack_held(ThreadPool& pool, std::span<Parameter* const> parts, bool transposed);

}  // namespace regard::nn
