// Reads the images and sounds that interventions name (file=).
#pragma once

#include "infer/loaded_model.h"
#include "inspect/other_input.h"

namespace regard::api {

// Return a function that prepares a file as the folder of `loaded` specifies: an image file with one image,
// or the first window of a sound file. If the file is a safetensors file, its tensor is used as the model's
// input without preparation. It has one row and the name of the input in transformers (pixel_values,
// input_features or input_values). `loaded` and `pool` must outlive the function.
inspect::FileReader file_reader(const infer::LoadedModel& loaded, ThreadPool& pool);

}  // namespace regard::api
