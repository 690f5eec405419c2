// Export of a model trained by regard as a folder for Hugging Face transformers
// (models/transformers_class.h).
#pragma once

#include <filesystem>
#include <optional>

#include "formats/model_folder.h"
#include "regard/tensor.h"

namespace regard::infer {

// Key of generation_config.json. If true, only transformers uses max_length; regard uses the same automatic
// limit as for the run folder.
constexpr const char* kAutomaticLength = "regard_automatic_length";

// Return true if the folder's model_type is regard's own, which transformers cannot load.
bool is_own_model(const formats::ModelFolder& folder);

// Write the folder `to`: model.safetensors (in `dtype`; default: as stored if all weights have the same half
// precision, otherwise float32), config.json, generation_config.json, and, if the run has a tokenizer,
// tokenizer.json, tokenizer_config.json and for two vocabularies target_tokenizer.json. transformers computes
// the same outputs, AutoTokenizer returns the same ids and generate() the same text; regard opens the folder
// too. Throws usage, before anything is written, if no transformers class computes the same function or `to`
// exists.
void save_for_transformers(const formats::ModelFolder& from, const std::filesystem::path& to,
                           std::optional<DType> dtype = std::nullopt);

}  // namespace regard::infer
