// A model's weights from and to files. The names are the checkpoint's; tied weights have one.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "formats/model_folder.h"
#include "formats/safetensors.h"
#include "models/network.h"

namespace regard {

// Sets every weight of the model from the tensor of its name, converted to f32, and lets go of each mapped
// tensor behind it. Throws bad_file if a tensor is missing, has another shape, or is left over, before any
// weight is changed.
void load_weights(Network& model, const formats::Weights& weights);

// Views of all weights, to be written.
std::vector<formats::NamedTensor> weights_of(Network& model);

// The model that a folder holds, ready to use.
std::unique_ptr<Network> load_model(const formats::ModelFolder& folder);

}  // namespace regard
