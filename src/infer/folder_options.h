// The decoding options that a model folder stores.
#pragma once

#include "formats/model_folder.h"
#include "infer/search.h"

namespace regard::infer {

// Key of generation_config.json and config.json: the end tokens, one id or a list.
constexpr const char* kEndTokens = "eos_token_id";

// Return the SearchOptions of a folder, read from generation_config.json. If that file does not exist, all
// options are read from config.json and, if it lacks a key, from the object "decoder", "generator" or
// "text_config" in it, as in transformers. Otherwise, only missing special tokens are read from config.json.
SearchOptions search_options_of(const formats::ModelFolder& folder);

// If the folder has no generation_config.json, set folder.generation_config to what is read instead.
void complete_settings(formats::ModelFolder& folder);

// As search_options_of(), for a folder after complete_settings().
SearchOptions read_search_options(const formats::ModelFolder& folder);

}  // namespace regard::infer
