#include "tasks/image_reader.h"

#include "base/counted.h"
#include "regard/error.h"

namespace regard::tasks {

ImageReader::ImageReader(const std::filesystem::path& folder, const InputSpec& spec) {
  spec.require(InputKind::pixels);
  if (spec.shape[1] != 3)
    throw usage_error("the model's number of image channels is not supported")
        .found(counted(spec.shape[1], "channel"))
        .expected("3 channels (red, green, blue)");
  processor_ = data::ImageProcessor::open(folder, spec.shape[2], spec.shape[3]);
}

std::vector<Input> ImageReader::read(std::span<const data::Image> images) const {
  const Tensor pixels = processor_.apply(images);
  std::vector<Input> inputs;
  for (std::int64_t i = 0; i < pixels.shape()[0]; ++i)
    inputs.emplace_back(ModelInput(pixels.slice_rows(i, i + 1)));
  return inputs;
}

}  // namespace regard::tasks
