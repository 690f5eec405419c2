// Resizing with every filter has the pixels of Pillow; cropping and padding have the stated pixels.
#include <gtest/gtest.h>

#include "data/image_processor.h"

namespace regard::data {
namespace {

Image patterned(std::int64_t height, std::int64_t width) {
  Image image{height, width, {}};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (std::int64_t colour = 0; colour < 3; ++colour)
        image.pixels.push_back(static_cast<std::uint8_t>((y * 57 + x * x * 31 + colour * 40) % 256));
  return image;
}

std::vector<int> greens(const Image& image) {
  std::vector<int> values;
  for (std::int64_t y = 0; y < image.height; ++y)
    for (std::int64_t x = 0; x < image.width; ++x) values.push_back(image.at(y, x)[1]);
  return values;
}

struct Resized {
  Resampling filter;
  std::vector<int> small, wide;  // the greens of 3 × 4 and of 11 × 2 pixels
};

// Image.resize of Pillow 13 computed the expected values.
TEST(Resizing, HasThePixelsOfPillow) {
  const Resized all[] = {
      {Resampling::nearest,
       {71, 63, 47, 185, 177, 161, 242, 234, 218, 100, 92, 76},
       {97, 97, 128, 221, 221, 120, 81, 81, 104, 189, 189, 12, 12, 43, 136, 136, 35, 252, 252, 19, 104, 104}},
      {Resampling::lanczos,
       {101, 97, 80, 158, 134, 180, 133, 164, 142, 77, 109, 90},
       {110, 128, 146, 135, 134, 137, 111, 95,  115, 154, 175,
        98,  116, 134, 125, 113, 125, 168, 165, 114, 110, 125}},
      {Resampling::bilinear,
       {101, 98, 93, 145, 138, 163, 142, 155, 138, 88, 107, 100},
       {111, 125, 142, 140, 137, 134, 109, 101, 116, 147, 171,
        94,  108, 125, 123, 120, 117, 153, 154, 108, 112, 122}},
      {Resampling::bicubic,
       {100, 98, 88, 150, 134, 174, 141, 162, 138, 80, 109, 96},
       {109, 124, 143, 137, 135, 134, 106, 96,  114, 151, 177,
        97,  112, 131, 125, 119, 122, 162, 162, 110, 111, 121}},
      {Resampling::box,
       {85, 113, 119, 170, 112, 204, 128, 155, 98, 85, 113, 119},
       {97, 97, 128, 136, 136, 120, 81,  81,  104, 189, 189,
        97, 97, 128, 136, 136, 120, 167, 167, 104, 104, 104}},
      {Resampling::hamming,
       {87, 94, 93, 147, 133, 175, 163, 166, 132, 84, 108, 99},
       {103, 115, 134, 145, 142, 126, 95,  89,  110, 153, 181,
        87,  99,  118, 129, 126, 110, 163, 170, 95,  105, 112}}};
  const Image image = patterned(6, 7);
  for (const Resized& one : all) {
    SCOPED_TRACE(static_cast<int>(one.filter));
    const Image small = resize(image, 4, 3, one.filter), wide = resize(image, 2, 11, one.filter);
    EXPECT_EQ(small.pixels.size(), 3u * 4 * 3);
    EXPECT_EQ(greens(small), one.small);
    EXPECT_EQ(wide.pixels.size(), 3u * 2 * 11);
    EXPECT_EQ(greens(wide), one.wide);
    EXPECT_EQ(resize(image, 6, 7, one.filter).pixels, image.pixels) << "same size";
  }
}

// If the number of rows or columns to cut is odd, one more is cut at the bottom or right. If the number to
// add is odd, one more is added at the top or left. transformers does the same.
TEST(Resizing, CropsAndPadsAroundTheCentre) {
  const Image image = patterned(2, 3);  // greens: 40 71 164, 97 128 221
  EXPECT_EQ(greens(centre_crop(image, 1, 2)), (std::vector<int>{40, 71}));
  EXPECT_EQ(greens(centre_crop(image, 2, 1)), (std::vector<int>{71, 128}));
  EXPECT_EQ(greens(centre_crop(image, 3, 4)),
            (std::vector<int>{0, 0, 0, 0, 0, 40, 71, 164, 0, 97, 128, 221}));
  EXPECT_EQ(greens(centre_crop(image, 1, 5)), (std::vector<int>{0, 40, 71, 164, 0}));
}

}  // namespace
}  // namespace regard::data
