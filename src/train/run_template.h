// Templates of run files: a commented run file for each task, which users edit.
#pragma once

#include <string>

namespace regard::train {

// Return a commented run file for the task. It runs unchanged in a folder with the files that it names.
// Throws usage for an unknown task; the message contains the nearest name.
std::string run_template(const std::string& task);

}  // namespace regard::train
