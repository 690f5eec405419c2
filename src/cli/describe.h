// What a file or folder holds, found out without loading any weights.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace regard::cli {

// An object whose "kind" is "safetensors", "pytorch", "model", "run", "checkpoint", "tokenizer", "config" or
// "shards"; the other keys depend on it. Throws usage if there is nothing at the path, bad_file for what
// regard does not read.
Json describe_path(const std::filesystem::path& path);

// The same for a reader: a line a key, and a table of tensors.
std::string description_text(const Json& description);

}  // namespace regard::cli
