// A model folder for tests of the program: a small model with random weights that have opinions, and a
// character tokenizer. What it says is nonsense, and always the same.
#pragma once

#include <filesystem>
#include <string>

namespace regard::testing {

// `name` as tiny_config() has it. max_positions > 0: learned positions, so many.
void write_text_model(const std::filesystem::path& folder, const std::string& name,
                      std::int64_t max_positions = 0);

}  // namespace regard::testing
