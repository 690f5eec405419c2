// Picture files: orientation, colour models, bit depths, WebP, animations, and sizes that are refused.
#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "corpora/pixel_sums.h"
#include "data/encode_png.h"
#include "data/orientation.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using data::Image;

TEST(PictureFiles, HaveThePixelsThatPillowReads) {
  testing::expect_pixels_of_pillow("pictures", "pictures.json", 20);
}

TEST(PictureFiles, FormatsThatAreNotReadAreNamed) {
  EXPECT_REGARD_ERROR(data::read_images(testing::golden("pictures/animated.gif")), ErrorKind::bad_file,
                      "found GIF");
  EXPECT_REGARD_ERROR(data::read_images(testing::golden("pictures/animated.webp")), ErrorKind::bad_file,
                      "animated WebP");
  EXPECT_REGARD_ERROR(data::read_images(testing::golden("pictures/cut.webp")), ErrorKind::bad_file,
                      "damaged");
}

TEST(PictureFiles, TruncatedOnesAreRefused) {
  testing::TemporaryFolder temporary;
  for (const char* name : {"inks.jpg", "deep.png", "turned6.jpg", "lossless.webp", "lossy.webp"}) {
    const std::string whole = read_file(testing::golden("pictures") / name);
    for (const double part : {0.05, 0.3, 0.6, 0.9}) {
      testing::write_file(
          temporary.path(), name,
          whole.substr(0, static_cast<std::size_t>(part * static_cast<double>(whole.size()))));
      EXPECT_REGARD_ERROR(data::read_images(temporary / name), ErrorKind::bad_file, name);
    }
  }
}

// The rows of the second image need two blocks of the uncompressed stream.
TEST(PictureFiles, WrittenPngHasTheSamePixels) {
  testing::TemporaryFolder temporary;
  for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{2, 3}, {150, 200}}) {
    Image image = data::blank_image(height, width, "");
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      image.pixels[i] = static_cast<std::uint8_t>(i * i * 7 % 251);
    const std::string png = data::encode_png(image);
    testing::write_file(temporary.path(), "a.png", png);
    const Image found = data::read_one_image(temporary / "a.png");
    EXPECT_EQ(found.height, height);
    EXPECT_EQ(found.width, width);
    EXPECT_TRUE(found.pixels == image.pixels);
    const std::size_t rows = static_cast<std::size_t>(height * (1 + 3 * width));
    const std::size_t blocks = (rows + 0xfffe) / 0xffff;
    // signature, three chunks with 12 bytes each, header, and zlib stream
    EXPECT_EQ(png.size(), 8 + 3 * 12 + 13 + (2 + 5 * blocks + rows + 4));
  }
}

// Return a PNG file with too few pixels for the size in its header.
std::string png_of(std::uint32_t width, std::uint32_t height) {
  std::string bytes = read_file(testing::golden("pictures/deep.png"));
  for (int i = 0; i < 4; ++i) {
    bytes[static_cast<std::size_t>(16 + i)] = static_cast<char>(width >> (24 - 8 * i));
    bytes[static_cast<std::size_t>(20 + i)] = static_cast<char>(height >> (24 - 8 * i));
  }
  std::uint32_t crc = 0xffffffffu;  // CRC of the header chunk, as in the PNG specification
  for (std::size_t at = 12; at < 29; ++at) {
    crc ^= static_cast<std::uint8_t>(bytes[at]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  crc = ~crc;
  for (int i = 0; i < 4; ++i)
    bytes[static_cast<std::size_t>(29 + i)] = static_cast<char>(crc >> (24 - 8 * i));
  return bytes;
}

TEST(PictureFiles, SizesOutsideOfTheLimitsAreRefusedBeforeMemoryIsTaken) {
  testing::TemporaryFolder temporary;
  testing::write_file(temporary.path(), "big.png", png_of(30000, 30000));
  EXPECT_REGARD_ERROR(data::read_images(temporary / "big.png"), ErrorKind::bad_file, "30000 × 30000");
  testing::write_file(temporary.path(), "none.png", png_of(0, 0));
  EXPECT_REGARD_ERROR(data::read_images(temporary / "none.png"), ErrorKind::bad_file, "none.png");
  testing::write_file(temporary.path(), "none.ppm", "P6 0 0 255\n");
  EXPECT_REGARD_ERROR(data::read_images(temporary / "none.ppm"), ErrorKind::bad_file, "empty or too large");
  testing::write_file(temporary.path(), "limited.png", png_of(6000, 6000));
  EXPECT_REGARD_ERROR(data::read_images(temporary / "limited.png", {.pixels = std::int64_t{1} << 25}),
                      ErrorKind::bad_file, "6000 × 6000");
  testing::write_file(temporary.path(), "bytes.pgm", "P5 300 1 255\n" + std::string(300, 'x'));
  EXPECT_REGARD_ERROR(data::read_images(temporary / "bytes.pgm", {.bytes = 200}), ErrorKind::bad_file,
                      "bytes.pgm");
  // 30,000 pixels wide is allowed.
  testing::write_file(temporary.path(), "wide.pgm", "P5 30000 1 255\n" + std::string(30000, 'x'));
  EXPECT_EQ(data::read_images(temporary / "wide.pgm")[0].width, 30000);
}

TEST(Orientation, DamagedExifIsIgnored) {
  const std::string tiff("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0", 26);
  EXPECT_EQ(data::orientation_of(tiff), 6);
  EXPECT_EQ(data::orientation_of(std::string("Exif\0\0", 6) + tiff), 6);
  for (std::size_t size = 0; size < 20; ++size)
    EXPECT_EQ(data::orientation_of(tiff.substr(0, size)), 1) << size;
  std::string far = tiff;
  far[4] = '\xff';  // the offset of the directory is beyond the end of the data
  EXPECT_EQ(data::orientation_of(far), 1);
  std::string nine = tiff;
  nine[19] = 9;
  EXPECT_EQ(data::orientation_of(nine), 1);
  EXPECT_EQ(data::orientation_of("neither"), 1);
}

// Four turns by 90 degrees give the original image.
TEST(Orientation, TurnsAndMirrors) {
  Image image = data::blank_image(2, 3, "");
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(i);
  const Image turned = data::oriented(image, 6);
  EXPECT_EQ(turned.height, 3);
  EXPECT_EQ(turned.at(0, 1)[0], image.at(0, 0)[0]);
  EXPECT_EQ(turned.at(2, 0)[0], image.at(1, 2)[0]);
  Image again = image;
  for (int i = 0; i < 4; ++i) again = data::oriented(again, 6);
  EXPECT_EQ(again.pixels, image.pixels);
  for (const int mirror : {2, 3, 4, 5, 7})
    EXPECT_EQ(data::oriented(data::oriented(image, mirror), mirror).pixels, image.pixels) << mirror;
}

}  // namespace
}  // namespace regard::testing
