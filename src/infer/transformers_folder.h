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

// Write the folder `to`, which regard can also open.
//   Files: model.safetensors, config.json, generation_config.json. If the run has a tokenizer: also
//     tokenizer.json, tokenizer_config.json and, for two vocabularies, target_tokenizer.json.
//   dtype: the type of the weights. Default: the stored type if all weights have the same half precision,
//     otherwise float32.
// In transformers, the model's outputs, the ids of AutoTokenizer and the text of generate() are the same as
// in regard. Throws usage, before anything is written, if `to` exists or no transformers class computes the
// same function.
void save_for_transformers(const formats::ModelFolder& from, const std::filesystem::path& to,
                           std::optional<DType> dtype = std::nullopt);

}  // namespace regard::infer
