// Data of tasks on images, read from folders, IDX files, tables of paths, or tables of pixels.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "data/picture_rows.h"
#include "evaluate/evaluation.h"
#include "tasks/image_reader.h"

namespace regard::evaluate {

// Number of images that are read and processed together. Does not affect any result.
constexpr std::size_t kPicturesTogether = 32;

// Read images and their texts as data::read_picture_rows() does, and append one row per image and the number
// of rows to `result`. Throws bad_file if there are no rows.
std::vector<data::PictureRow> read_pictures(const DataOptions& data, Evaluation& result);

// Return the model's inputs for the images.
std::vector<tasks::Input> inputs_of(std::span<const data::PictureRow> rows, const tasks::ImageReader& reader);

}  // namespace regard::evaluate
