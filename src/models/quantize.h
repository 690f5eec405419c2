// Quantisation to int8 for inference: each matrix becomes integers in −127 … 127 and one scale per output
// (per id for an embedding table). In a file, a weight NAME is an I8 tensor of the same shape plus the F32
// tensor NAME_scale, whose shape lets NAME · NAME_scale broadcast; config.json has a "quantization_config".
#pragma once

#include "base/json.h"
#include "models/network.h"

namespace regard {

// Quantise every f32, f16 or bf16 matrix of the model to int8, for inference only. Weights are converted one
// at a time, so peak memory is little more than the result. Position and type tables, vectors, and matrices
// with more than 65,536 inputs are not changed. Throws numeric for weights that are not finite.
void quantize(Network& model);

// Convert the weights that quantize() would convert to f16, bf16 or f32, and hold them for inference; i8
// calls quantize(). Used by benchmarks.
void hold_as(Network& model, DType dtype);

// Set or remove the key "quantization_config" according to `int8`. Return whether that changed the config.
bool set_quantization(Json& config, bool int8);
// Return true if the config declares int8 weights in this format. Families refuse the keys of other methods.
bool is_quantized(const Json& config);

}  // namespace regard
