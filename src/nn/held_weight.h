// Packing of weights that are held for inference only (Parameter::Held).
#pragma once

#include <span>

#include "kernels/packed_matrix.h"
#include "ops/parameter.h"

namespace regard::nn {

bool any_held(std::span<Parameter* const> parts);

// Return the size of the parts in bytes: as held (int8: with each output's scale and weight sum), or as f32
// values.
std::int64_t stored_bytes(std::span<Parameter* const> parts);

// Pack the outputs of all parts into one matrix, and drop the held numbers or release their file's pages. The
// matrix has the parts' common type, or f32 if they differ. transposed: the only part is stored as [in, out].
kernels::PackedMatrix pack_held(ThreadPool& pool, std::span<Parameter* const> parts, bool transposed);

}  // namespace regard::nn
