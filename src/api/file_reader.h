// Reads the images and sounds that interventions name (file=).
#pragma once

#include "infer/loaded_model.h"
#include "inspect/other_input.h"

namespace regard::api {

// Return a function that prepares an image file (with one image) or the first window of a sound file as the
// folder of `loaded` specifies, or loads a prepared input from a safetensors file: one tensor with one row,
// named as in transformers (pixel_values, input_features or input_values). `loaded` and `pool` must outlive
// the function.
inspect::FileReader file_reader(const infer::LoadedModel& loaded, ThreadPool& pool);

}  // namespace regard::api
