// A model of ours written as a folder that Hugging Face's transformers opens (models/transformers_class.h).
#pragma once

#include <filesystem>
#include <optional>

#include "formats/model_folder.h"
#include "regard/tensor.h"

namespace regard::infer {

// In generation_config.json: true where regard is to bound what it writes as in the run folder, and only
// transformers by max_length.
constexpr const char* kAutomaticLength = "regard_automatic_length";

// Whether `folder` holds a model of ours, which transformers does not know.
bool is_own_model(const formats::ModelFolder& folder);

// Writes such a folder: model.safetensors (in `dtype`, default as stored), config.json,
// generation_config.json, tokenizer.json and tokenizer_config.json. transformers computes the same outputs,
// AutoTokenizer gives the same ids, and generate() the same text; regard opens the folder too. Throws usage,
// before anything is written, where no class computes the same or something is at `to`.
void save_for_transformers(const formats::ModelFolder& from, const std::filesystem::path& to,
                           std::optional<DType> dtype = std::nullopt);

}  // namespace regard::infer
