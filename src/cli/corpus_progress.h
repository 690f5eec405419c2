// Progress display while a corpus is read.
#pragma once

#include <filesystem>
#include <vector>

#include "text/word_counts.h"

namespace regard::cli {

// Wrap `lines`, the lines of `files`, so that a terminal shows the progress until the last line is read.
// Nothing is shown if `quiet` is set or if no file has a known size (pipes).
text::LineSource with_progress(text::LineSource lines, const std::vector<std::filesystem::path>& files,
                               bool quiet);

}  // namespace regard::cli
