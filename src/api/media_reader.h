// Reads the image and sound files of studies.
#pragma once

#include "infer/loaded_model.h"
#include "inspect/media_reader.h"

namespace regard::api {

// Return functions that read image or sound files and data sets, as specified in the folder of `loaded`; a
// sound is cut to its first 30 seconds. `loaded` and `pool` must outlive the functions.
inspect::MediaReader media_reader(const infer::LoadedModel& loaded, ThreadPool& pool);

}  // namespace regard::api
