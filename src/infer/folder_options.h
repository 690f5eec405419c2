// The decoding options that a model folder stores.
#pragma once

#include "formats/model_folder.h"
#include "infer/search.h"

namespace regard::infer {

// Name of the key for the end tokens in generation_config.json and config.json. Its value is an id or a list
// of ids.
constexpr const char* kEndTokens = "eos_token_id";

// Read the SearchOptions of a folder from generation_config.json. Special tokens that this file lacks are
// read from config.json. If the folder has no generation_config.json, all options are read from config.json;
// keys that config.json lacks are read from its object "decoder", "generator" or "text_config". transformers
// reads folders in the same way.
SearchOptions search_options_of(const formats::ModelFolder& folder);

// If the folder has no generation_config.json, set folder.generation_config to the settings in config.json
// that replace this file.
void complete_settings(formats::ModelFolder& folder);

// Do the same as search_options_of() for a folder that complete_settings() has processed.
SearchOptions read_search_options(const formats::ModelFolder& folder);

}  // namespace regard::infer
