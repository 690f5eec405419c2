// Describe the contents of a file or folder without loading weights.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace regard::cli {

// Return an object whose "kind" is "safetensors", "pytorch", "model", "run", "checkpoint", "tokenizer",
// "config" or "shards"; the other keys depend on it. Throws io if the path does not exist, and bad_file if
// the format is not supported.
Json describe_path(const std::filesystem::path& path);

// Format the description as text: one line per key, then a table of tensors.
std::string description_text(const Json& description);

}  // namespace regard::cli
