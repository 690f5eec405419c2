// A file that lists the files of the training data (data.train_list).
#pragma once

#include "train/run_config.h"

namespace regard::train {

// Read the list into config.data.train and config.train_places, and clear data.train_list. Each line has the
// path of a file or, for line-aligned files, the paths of a group, separated by tabs. Paths are relative to
// the list's folder. Blank lines and lines that start with # are ignored. Throws usage if data.train is set
// too, and io if the list cannot be read. Throws bad_file with the line if lines have different numbers of
// paths, or if a path is empty or listed twice. Throws bad_file if the list is empty.
void read_train_list(RunConfig& config);

}  // namespace regard::train
