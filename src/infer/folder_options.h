// The decoding options that a model folder stores.
#pragma once

#include <string>

#include "formats/model_folder.h"
#include "infer/search.h"

namespace regard::infer {

// Name of the key for the end tokens in generation_config.json and config.json. Its value is an id or a list
// of ids.
constexpr const char* kEndTokens = "eos_token_id";
// Name of the key for texts that end the output: a text or a list of texts.
constexpr const char* kStopStrings = "stop_strings";

// Return the decoding options that generation_config.json sets. If a special token is missing in this file,
// it is read from config.json. Without generation_config.json, all options are read from config.json. If a
// key is missing there, it is read from the object "decoder", "generator" or "text_config" in config.json.
// transformers reads folders in the same way.
SearchOptions search_options_of(const formats::ModelFolder& folder);

// If the folder has no generation_config.json, set folder.generation_config to the settings in config.json
// that replace this file.
void complete_settings(formats::ModelFolder& folder);

// Do the same as search_options_of() for a folder that complete_settings() has processed.
SearchOptions read_search_options(const formats::ModelFolder& folder);

// Throw usage if a key of `values` is not a key of generation_config.json that has an effect. `option` is the
// command-line option with the values, for messages.
void check_setting_names(const Json& values, const std::string& option);

}  // namespace regard::infer
