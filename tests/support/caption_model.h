// A tiny folder of a captioning model, with a tokenizer.
#pragma once

#include <filesystem>

namespace regard::testing {

// Create a folder with the weights of hf-tiny/deit-bart and a tokenizer whose token i is "wI". Return
// `folder`.
std::filesystem::path write_caption_model(const std::filesystem::path& folder);

}  // namespace regard::testing
