// Reading a corpus is a stage for itself, with a progress line of its own.
#pragma once

#include <filesystem>
#include <vector>

#include "text/word_counts.h"

namespace regard::cli {

// `lines`, which come from `files`, with what was read of them shown on a terminal; the line goes with the
// last of them. Nothing is shown where no file says how long it is (a pipe).
text::LineSource with_progress(text::LineSource lines, const std::vector<std::filesystem::path>& files,
                               bool quiet);

}  // namespace regard::cli
