// A model's weights from and to files. A file's names may differ from the model's own within the family's
// NameRules; once loaded, a parameter has the file's name, so gradients and saved files have it too.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "formats/model_folder.h"
#include "formats/safetensors.h"
#include "models/network.h"

namespace regard {

// What a loaded model's matrices are kept as.
enum class Keep {
  widened,  // f32 values: for training, and for looking at the weights
  stored,   // as the file has them (Parameter::Held): for inference
  int8,     // quantised, those of floating point too: for inference
};

// Sets every weight of the model from its tensor: f32 is used where it lies in the map, everything else is
// converted to f32 and its mapped pages let go, but for the matrices that `keep` keeps. An I8 tensor stands
// for number · scale, with NAME_scale beside it. Nothing is allocated, and no weight changed, before every
// tensor was found and has the shape that the config asks for. Throws bad_file if a tensor is missing, has
// another shape or a dtype that is not computed with, is left over, or if two copies of a tied weight differ.
void load_weights(Network& model, const formats::Weights& weights, Keep keep = Keep::widened);

// All weights, to be written, in the layout of the file that they came from, copies of tied ones included.
// stored_dtypes: converted back to the file's dtypes, and what is held as it is held, scales beside it; else
// f32, views where they can be.
std::vector<formats::NamedTensor> weights_of(Network& model, bool stored_dtypes = false);

// The model that a folder holds, ready to use.
std::unique_ptr<Network> load_model(const formats::ModelFolder& folder, Keep keep = Keep::widened);

// Writes the model as a Hugging Face folder that opens as `from` did: model.safetensors in the stored names,
// layouts and dtypes (or all floating point as `dtype`), and copies of the other files: configs and
// tokenizer. config.json says whether there are int8 weights (quantize.h). The folder appears
// whole or not at all. Throws usage if `to` is already there.
void save_model(Network& model, const formats::ModelFolder& from, const std::filesystem::path& to,
                std::optional<DType> dtype = std::nullopt);

}  // namespace regard
