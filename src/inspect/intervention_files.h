// Reads vectors and attention patterns from the files that an intervention names.
#pragma once

#include <string>

#include "regard/tensor.h"

namespace regard::inspect {

// Read the tensor that `key` ("vector" or "pattern") of an intervention names: FILE#NAME, or FILE if the
// safetensors file holds one tensor. Throws io if there is no such file, bad_file if it is not a safetensors
// file, has no tensors or no tensor NAME, and usage if NAME is needed.
Tensor read_tensor(const std::string& key, const std::string& place);

}  // namespace regard::inspect
