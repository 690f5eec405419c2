// A run file to start from.
#pragma once

#include <string>

namespace regard::train {

// Return a commented run file for the task. It runs unchanged in a folder that holds the two files that it
// names. Throws usage for an unknown task, naming the nearest.
std::string run_template(const std::string& task);

}  // namespace regard::train
