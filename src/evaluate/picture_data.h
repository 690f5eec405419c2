// Data of tasks on pictures, read from folders, IDX files, tables of paths, or tables of pixels.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "data/picture_rows.h"
#include "evaluate/evaluation.h"
#include "tasks/image_reader.h"

namespace regard::evaluate {

// Maximum number of pictures in memory at the same time. Does not affect any result.
constexpr std::size_t kPicturesTogether = 32;

// Return the rows of data::read_picture_rows(), at least one. Appends the number of rows to `result`.
std::vector<data::PictureRow> read_pictures(const DataOptions& data, Evaluation& result);

// Return the model's inputs for the pictures.
std::vector<tasks::Input> inputs_of(std::span<const data::PictureRow> rows, const tasks::ImageReader& reader);

}  // namespace regard::evaluate
