// Comparison of decoded images with the pixels that Pillow reads.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "data/image.h"
#include "support/namespaces.h"
#include "support/shared_data.h"

namespace regard::testing {

// Read the images that tests/data/FOLDER/LIST names, and expect their sizes, the sums of their pixels, and
// the sums weighted by the position of each pixel. `least`: minimum number of images.
inline void expect_pixels_of_pillow(const std::string& folder, const std::string& list, std::size_t least) {
  const Json about = read_json(golden(folder + "/" + list).string());
  EXPECT_GE(about["cases"].size(), least);
  for (const Json& one : about["cases"]) {
    const auto file = one["file"].get<std::string>();
    SCOPED_TRACE(file);
    const std::vector<data::Image> images = data::read_images(golden(folder + "/" + file));
    ASSERT_EQ(images.size(), 1u);
    const data::Image& image = images[0];
    EXPECT_EQ(image.width, one["size"][0].get<std::int64_t>());
    EXPECT_EQ(image.height, one["size"][1].get<std::int64_t>());
    for (std::size_t colour = 0; colour < 3; ++colour) {
      std::int64_t sum = 0, weighted = 0;
      for (std::int64_t p = 0; p < image.width * image.height; ++p) {
        const std::int64_t value = image.pixels[static_cast<std::size_t>(3 * p) + colour];
        sum += value, weighted += value * (p + 1);
      }
      EXPECT_EQ(sum, one["pixel_sum"][colour].get<std::int64_t>());
      EXPECT_EQ(weighted, one["weighted_sum"][colour].get<std::int64_t>());
    }
  }
}

}  // namespace regard::testing
