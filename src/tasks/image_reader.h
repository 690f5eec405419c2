// Convert images to model inputs, as the model's folder specifies.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "data/image_processor.h"
#include "tasks/reader.h"

namespace regard::tasks {

class ImageReader {
 public:
  // Reads FOLDER/preprocessor_config.json. Throws usage if the model does not read RGB images, and bad_file
  // with file and key if the file is invalid.
  ImageReader(const std::filesystem::path& folder, const InputSpec& spec);

  std::vector<Input> read(std::span<const data::Image> images) const;

 private:
  data::ImageProcessor processor_;
};

}  // namespace regard::tasks
