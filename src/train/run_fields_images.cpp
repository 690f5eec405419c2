// Keys of a run file: [images] and [augmentation].
#include "train/run_field_parts.h"

namespace regard::train {

void add_images(std::vector<Field>& list, ImageConfig& c) {
  const auto size = [&list](const char* key, std::int64_t& value, const char* meaning) {
    list.push_back({.section = "images",
                    .key = key,
                    .target = &value,
                    .unit = "pixels",
                    .meaning = meaning,
                    .low = 1,
                    .high = 4096});
  };
  size("size", c.size, "Width and height to which each image is resized.");
  size("patch_size", c.patch_size, "Width and height of a patch, which is one position of the model.");
  list.push_back({.section = "images",
                  .key = "highest",
                  .target = &c.highest,
                  .meaning =
                      "Pixel value of white. Each row of a table then contains grey pixels and a label. 0 "
                      "means that each row contains the path of an image and its label.",
                  .low = 0,
                  .high = 65535});
  list.push_back(
      {.section = "images",
       .key = "mean",
       .target = &c.mean,
       .meaning =
           "Mean of each colour channel (red, green, blue), subtracted from pixel values scaled to 0 to 1.",
       .low = -10,
       .high = 10});
  list.push_back({.section = "images",
                  .key = "deviation",
                  .target = &c.deviation,
                  .meaning = "Standard deviation of each colour channel (red, green, blue). A value x from 0 "
                             "to 1 becomes (x - mean) / deviation.",
                  .low = 1e-6,
                  .high = 1e6});
}

void add_augmentation(std::vector<Field>& list, AugmentationConfig& c) {
  const auto number = [&list](const char* key, double& value, double low, double high, const char* meaning,
                              const char* unit = "") {
    list.push_back({.section = "augmentation",
                    .key = key,
                    .target = &value,
                    .unit = unit,
                    .meaning = meaning,
                    .low = low,
                    .high = high});
  };
  number("smallest_crop", c.smallest_crop, 0.01, 1.0,
         "Minimum fraction of the image's area that a random crop keeps. Crops have an aspect ratio of 3:4 "
         "to 4:3 and are resized to the full size. 1 disables cropping.");
  number("flip", c.flip, 0.0, 1.0, "Probability of flipping an image horizontally.");
  number("rotation", c.rotation, 0.0, 180.0, "Maximum angle of a random rotation in either direction.",
         "degrees");
  number("zoom", c.zoom, 0.0, 0.9, "Maximum random change of the size, as a fraction of the size.");
  number("shift", c.shift, 0.0, 0.9, "Maximum random shift, as a fraction of the width and of the height.");
  number("shear", c.shear, 0.0, 60.0, "Maximum angle of a random horizontal shear.", "degrees");
}

}  // namespace regard::train
