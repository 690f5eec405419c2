// Weights that are held for inference alone (Parameter::Held), rearranged for the kernels.
#pragma once

#include <span>

#include "kernels/packed_matrix.h"
#include "ops/tape.h"

namespace regard::nn {

bool any_held(std::span<Parameter* const> parts);

// Bytes of the parts as they are held, the scales of int8 counted, or as values.
std::int64_t stored_bytes(std::span<Parameter* const> parts);

// One matrix of the parts, side by side; what they held is dropped, or its file's pages let go. Held as what
// they all are, or as f32 where they differ. transposed: the one part lies as [in, out].
kernels::PackedMatrix pack_held(ThreadPool& pool, std::span<Parameter* const> parts, bool transposed);

}  // namespace regard::nn
