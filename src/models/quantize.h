// Quantisation to int8 for inference. Each matrix is stored as integers from −127 to 127 and one scale per
// output (for an embedding table, one scale per id). In a file, a weight NAME is stored as an I8 tensor NAME
// of the same shape and an F32 tensor NAME_scale. The value is NAME · NAME_scale with broadcasting.
// config.json has a "quantization_config".
#pragma once

#include "base/json.h"
#include "base/namespaces.h"
#include "models/network.h"

namespace regard::models {

// Quantise the f32, f16 and bf16 matrices of the model to int8, for inference only. Position and type tables,
// and matrices with more than 65,536 inputs, stay unchanged. Weights are converted one at a time to limit the
// peak memory. Throws numeric for weights that are not finite.
void quantize(Network& model);

// Convert every matrix except position and type tables to `dtype` (f16, bf16 or f32), for inference only, or
// quantise the model if `dtype` is i8. Used by benchmarks.
void hold_as(Network& model, DType dtype);

// For inference only: round every matrix except position and type tables to bf16, and compute with them in
// bf16. Throws usage if the processor has no bf16 instructions (kernels/bf16.h) or a weight is int8.
void compute_in_bf16(Network& model);

// Set the key "quantization_config" if `int8` is true, otherwise remove it. Return true if the config has
// changed.
bool set_quantization(Json& config, bool int8);
// Return true if "quantization_config" declares int8 weights in the format described at the top of this
// header. Model families reject other methods of quantisation.
bool is_quantized(const Json& config);

}  // namespace regard::models
