// Load a model's weights from files and save them. Loading sets Parameter::name to the tensor's name in the
// file, which NameRules relates to the name in the model; gradients and saved files use this name.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/namespaces.h"
#include "formats/model_folder.h"
#include "formats/safetensors.h"
#include "models/network.h"

namespace regard::models {

// Storage of the matrices of a loaded model in memory.
enum class WeightMode {
  widened,  // matrices as f32 values, for training and for inspecting the weights
  stored,   // matrices in the file's dtype (Parameter::Held), for inference
  int8,     // matrices as int8, for inference; floating-point numbers of the file are quantised
  // matrices rounded to bf16, for inference; products, attention and the key/value cache are bf16 too
  bf16,
};

// Set every weight of the model from its tensor. `mode` determines the storage of matrices. Other weights:
// f32 tensors are used in place in the mapped file if possible; tensors of another dtype are converted to
// f32, and their mapped pages are released. An I8 tensor NAME requires an F32 tensor NAME_scale; the weight
// is NAME · NAME_scale. All tensors are checked before the first weight is set, except those of a pooler that
// the head does not use. Throws bad_file if a tensor is missing, unused, or of the wrong shape or dtype, if
// an int8 weight has invalid values or scales, or if two copies of a tied weight differ. With
// WeightMode::bf16, throws usage if the processor has no bf16 instructions or the file has int8 weights.
void load_weights(Network& model, const formats::Weights& weights, WeightMode mode = WeightMode::widened);

// Return all weights for saving, including copies of tied weights, in the layout of the file from which they
// were loaded. Without stored_dtypes, the model's weights are f32. With stored_dtypes, they have the dtype in
// the file, except that I8 tensors that were converted to f32 stay f32, and weights held for inference
// (Parameter::Held) have their own dtype and scales. Unused tensors of the file are unmodified.
std::vector<formats::NamedTensor> weights_of(Network& model, bool stored_dtypes = false);

// Build the folder's model, load its weights and, if there is one, add its adapter (lora.h).
std::unique_ptr<Network> load_model(const formats::ModelFolder& folder,
                                    WeightMode mode = WeightMode::widened);

// Load a model for saving: the folder's adapter, if there is one, is merged into the weights.
std::unique_ptr<Network> load_merged_model(const formats::ModelFolder& folder, WeightMode mode);

// Write the weights to `to`/model.safetensors, with the names and layouts of the file from which they were
// loaded. Copy the configuration, the tokenizer and the modules of sentence-transformers from `from`. The
// folder is created atomically. Throws usage if `to` exists.
// `dtype`: dtype of the weights. Default: the stored dtypes.
void save_model(Network& model, const formats::ModelFolder& from, const std::filesystem::path& to,
                std::optional<DType> dtype = std::nullopt);

}  // namespace regard::models
