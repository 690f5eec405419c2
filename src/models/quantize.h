// int8 for inference: each matrix as numbers in −127 … 127 and one scale for each of its outputs (for each
// id, of a table of vectors). Saved, a weight NAME is an I8 tensor of the same shape with NAME_scale beside
// it, F32, of a shape that NAME · NAME_scale broadcasts to the weight; config.json says so under
// "quantization_config".
#pragma once

#include "base/json.h"
#include "models/network.h"

namespace regard {

// Every matrix of the model that is f32, f16 or bf16 becomes int8, held for inference alone; one weight after
// the other, so that little more than the result is needed. Tables of positions and types, vectors, and
// matrices of more than 65,536 inputs stay as they are. Throws numeric for weights that are not finite.
void quantize(Network& model);

// The same for what is held as it is stored, as f16 or bf16 (or f32: nothing but held). For measuring.
void hold_as(Network& model, DType dtype);

// Makes the key "quantization_config" say whether there are int8 weights of ours. Whether that changed it.
bool set_quantization(Json& config, bool int8);
// Whether a config says so. Another method's key is the family's to refuse.
bool is_quantized(const Json& config);

}  // namespace regard
