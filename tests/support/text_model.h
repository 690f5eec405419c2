// A model folder for tests of the program: a small model with large random weights, so that its predictions
// are not uniform, and a character tokenizer. Its output is nonsense but deterministic.
#pragma once

#include <filesystem>
#include <string>

#include "support/namespaces.h"

namespace regard::testing {

// `name` is a name of tiny_config(). If max_positions is positive, the model has this many learned positions.
void write_text_model(const std::filesystem::path& folder, const std::string& name,
                      std::int64_t max_positions = 0);

}  // namespace regard::testing
