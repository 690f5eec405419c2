// Quantisation to int8 for inference. Each matrix is stored as integers from −127 to 127 and one scale per
// output (for an embedding table, one scale per id). In a file, a weight NAME is an I8 tensor of the same
// shape and the F32 tensor NAME_scale, and the value is NAME · NAME_scale with broadcasting; config.json has
// a "quantization_config".
#pragma once

#include "base/json.h"
#include "base/namespaces.h"
#include "models/network.h"

namespace regard::models {

// Quantise every f32, f16 or bf16 matrix of the model to int8, for inference only. Weights are converted one
// at a time, so the peak memory is little more than the size of the result. Position and type tables,
// vectors, and matrices with more than 65,536 inputs stay unchanged. Throws numeric for weights that are not
// finite.
void quantize(Network& model);

// Convert every matrix except position and type tables to `dtype` (f16, bf16 or f32), and hold it for
// inference. For i8, do the same as quantize(). Used by benchmarks.
void hold_as(Network& model, DType dtype);

// For inference only: round every matrix except position and type tables to bf16, and compute with them in
// bf16. Throws usage if the processor has no bf16 instructions (kernels/bf16.h) or a weight is int8.
void compute_in_bf16(Network& model);

// Set the key "quantization_config" if `int8` is true, otherwise remove it. Return true if the config has
// changed.
bool set_quantization(Json& config, bool int8);
// Return true if the config declares int8 weights in this format. Families reject the keys of other methods.
bool is_quantized(const Json& config);

}  // namespace regard::models
