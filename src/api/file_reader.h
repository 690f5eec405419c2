// Reads the image, sound and safetensors files that interventions name (file=).
#pragma once

#include "infer/loaded_model.h"
#include "inspect/other_input.h"

namespace regard::api {

// Return a function that reads one model input from an image, a sound (its first window) or a safetensors
// file (one tensor with one row, named pixel_values, input_features or input_values). Images and sounds are
// preprocessed as specified in the folder of `loaded`; `loaded` and `pool` must outlive the function.
inspect::FileReader file_reader(const infer::LoadedModel& loaded, ThreadPool& pool);

}  // namespace regard::api
