// The settings of a folder's image processor or feature extractor, as Hugging Face transformers stores them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/namespaces.h"

namespace regard::data {

struct ProcessorKeys {
  std::string file;  // name for messages: FILE, or "FILE: PART" if the settings are a part of the file
  Json keys;         // a JSON object
};

// Return the settings of `part` ("image_processor" or "feature_extractor"): the object `part` of
// processor_config.json or, if that object is missing, the content of preprocessor_config.json, as
// transformers does. Returns nullopt if both are missing. Throws bad_file if the settings are not a JSON
// object.
std::optional<ProcessorKeys> read_processor_keys(const std::filesystem::path& folder, const char* part);

// Return the class of the processor, such as "CLIPImageProcessor", from `class_key` or, if that key is
// missing, from "feature_extractor_type". If both are missing, return model_type of config.json, from which
// transformers derives the class. Returns "" if all three are missing.
std::string processor_class_of(const ProcessorKeys& from, const char* class_key,
                               const std::filesystem::path& folder);

}  // namespace regard::data
