// A run file to begin with.
#pragma once

#include <string>

namespace regard::train {

// A commented run file for the task that runs unchanged beside the two files that it names. Throws usage for
// an unknown task, naming the nearest.
std::string run_template(const std::string& task);

}  // namespace regard::train
