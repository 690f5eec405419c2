// Images: decoding compared with Pillow, resizing and normalisation compared with transformers' image
// processors.
#include "data/image.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/input_stream.h"
#include "base/json.h"
#include "corpora/pixel_sums.h"
#include "data/image_processor.h"
#include "data/sound.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;
using data::Image;
using data::ImageProcessor;

fs::path images_folder() {
  return testing::golden("hf-more/image-preprocessing");
}

TEST(Image, EveryKindOfFileHasThePixelsThatPillowReads) {
  testing::expect_pixels_of_pillow("tasks", "images.json", 5);
}

class AsImageProcessors : public ::testing::TestWithParam<const char*> {};

TEST_P(AsImageProcessors, BytesAreThoseOfPillowAndPixelsThoseOfTransformers) {
  const std::string name = GetParam();
  const testing::Golden golden("hf-more", "image-preprocessing");
  testing::TemporaryFolder temporary;
  fs::copy(images_folder() / ("preprocessor_config." + name + ".json"),
           temporary / "preprocessor_config.json");
  const ImageProcessor processor = ImageProcessor::open(temporary.path(), 1, 1);
  for (const auto& [image_name, size] : golden.about()["images"].items()) {
    SCOPED_TRACE(image_name);
    const std::vector<Image> images = data::read_images(images_folder() / (image_name + ".png"));
    const Image shaped = processor.shape(images[0]);
    const Tensor resized = golden.tensor("resized." + name + "." + image_name);  // [3, height, width]
    ASSERT_EQ(shaped.height, resized.shape()[1]);
    ASSERT_EQ(shaped.width, resized.shape()[2]);
    const auto* bytes = static_cast<const std::uint8_t*>(resized.data());
    const std::int64_t plane = shaped.height * shaped.width;
    for (std::int64_t i = 0; i < 3 * plane; ++i)
      ASSERT_EQ(shaped.pixels[static_cast<std::size_t>(3 * (i % plane) + i / plane)], bytes[i]) << i;
    testing::expect_close(processor.apply(images), golden.tensor("pixel_values." + name + "." + image_name),
                          1e-6, 1.0, name);
  }
}

INSTANTIATE_TEST_SUITE_P(, AsImageProcessors,
                         ::testing::Values("vit_bilinear", "vit_bicubic", "deit_crop", "clip"));

// Missing keys have the defaults of the image processor's class, which is named in the settings or derived
// from config.json. transformers reads processor_config.json before preprocessor_config.json.
TEST(ImageProcessors, DefaultsAreThoseOfTheClass) {
  testing::TemporaryFolder folder;
  const auto open = [&](const char* file, const std::string& text) {
    testing::write_file(folder.path(), file, text);
    return ImageProcessor::open(folder.path(), 32, 32);
  };
  const char* const file = "preprocessor_config.json";
  const ImageProcessor clip = open(file, R"({"image_processor_type": "CLIPImageProcessorFast"})");
  EXPECT_EQ(clip.filter, data::Resampling::bicubic);
  EXPECT_TRUE(clip.do_crop);
  EXPECT_EQ(clip.shortest_edge, 224);
  EXPECT_FLOAT_EQ(clip.mean[2], 0.40821073f);
  EXPECT_EQ(open(file, R"({"image_processor_type": "CLIPImageProcessor",
                           "size": {"height": 20, "width": 30}})")
                .shortest_edge,
            0);
  const ImageProcessor deit = open(file, R"({"feature_extractor_type": "DeiTFeatureExtractor"})");
  EXPECT_EQ(deit.filter, data::Resampling::bicubic);
  EXPECT_TRUE(deit.do_crop);
  EXPECT_EQ(deit.height, 256);
  const ImageProcessor siglip = open(file, R"({"image_processor_type": "SiglipImageProcessor"})");
  EXPECT_EQ(siglip.filter, data::Resampling::bicubic);
  EXPECT_FALSE(siglip.do_crop);
  EXPECT_EQ(siglip.height, 32);
  const ImageProcessor vit = open(file, R"({"size": 20})");
  EXPECT_EQ(vit.filter, data::Resampling::bilinear);
  EXPECT_EQ(vit.height, 20);
  testing::write_file(folder.path(), "config.json", R"({"model_type": "clip"})");
  EXPECT_EQ(open(file, R"({"size": 20})").shortest_edge, 20);
  const ImageProcessor nested = open("processor_config.json", R"({"image_processor": {"resample": 0,
      "image_processor_type": "ViTImageProcessor", "image_std": [0.1, 0.2, 0.3]}})");
  EXPECT_EQ(nested.filter, data::Resampling::nearest);
  EXPECT_FLOAT_EQ(nested.deviation[1], 0.2f);
  EXPECT_EQ(nested.shortest_edge, 0);
}

TEST(Image, IdxHoldsManyGreyImages) {
  testing::TemporaryFolder temporary;
  const std::string header("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03", 16);
  testing::write_file(temporary.path(), "images", header + "abcdefABCDEF");
  const std::vector<Image> images = data::read_images(temporary / "images");
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[1].height, 2);
  EXPECT_EQ(images[1].width, 3);
  EXPECT_EQ(images[1].at(1, 2)[0], 'F');
  EXPECT_EQ(images[1].at(1, 2)[2], 'F');
  EXPECT_EQ(images[0].at(0, 1)[1], 'b');
  EXPECT_REGARD_ERROR(data::read_one_image(temporary / "images"), ErrorKind::bad_file, "one image");
  testing::write_file(temporary.path(), "short", header + "abcdefABCDE");
  EXPECT_REGARD_ERROR(data::read_images(temporary / "short"), ErrorKind::bad_file, "IDX");
  testing::write_file(temporary.path(), "huge",
                      std::string("\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\x03", 16));
  EXPECT_REGARD_ERROR(data::read_images(temporary / "huge"), ErrorKind::bad_file, "IDX");
}

TEST(Image, LimitsHoldForIdx) {
  testing::TemporaryFolder temporary;
  const std::string header("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03", 16);
  testing::write_file(temporary.path(), "images", header + "abcdefABCDEF");
  EXPECT_EQ(data::read_images(temporary / "images", {.pixels = 6, .images = 2}).size(), 2u);
  EXPECT_REGARD_ERROR(data::read_images(temporary / "images", {.pixels = 5}), ErrorKind::bad_file,
                      "at most 5 pixels");
  EXPECT_REGARD_ERROR(data::read_images(temporary / "images", {.images = 1}), ErrorKind::bad_file,
                      "too many images");
}

// Truncated JPEG, PNG and PGM files, files that are not images, and images that are too large are rejected
// with an error.
TEST(Image, DamagedFilesAreRefused) {
  testing::TemporaryFolder temporary;
  for (const char* name : {"fine.jpg", "coarse.jpg", "grey.png", "grey.pgm", "palette.png"}) {
    const std::string whole = read_file(testing::golden("tasks") / name);
    for (const double part : {0.02, 0.3, 0.6, 0.9}) {
      const auto size = static_cast<std::size_t>(part * static_cast<double>(whole.size()));
      testing::write_file(temporary.path(), name, whole.substr(0, size));
      EXPECT_REGARD_ERROR(data::read_images(temporary / name), ErrorKind::bad_file, name);
    }
  }
  testing::write_file(temporary.path(), "text", "not an image");
  EXPECT_REGARD_ERROR(data::read_images(temporary / "text"), ErrorKind::bad_file, "PNG, JPEG, WebP, PPM");
  testing::write_file(temporary.path(), "empty", "");
  EXPECT_REGARD_ERROR(data::read_images(temporary / "empty"), ErrorKind::bad_file, "unknown image format");
  testing::write_file(temporary.path(), "wide.ppm", "P6 999999999 999999999 255\n");
  EXPECT_REGARD_ERROR(data::read_images(temporary / "wide.ppm"), ErrorKind::bad_file, "too large");
  EXPECT_FALSE(data::looks_like_image(temporary / "text"));
  testing::write_file(temporary.path(), "not.gz", "\x1f\x8bno compressed data");
  EXPECT_FALSE(data::looks_like_image(temporary / "not.gz"));
  EXPECT_TRUE(data::looks_like_image(testing::golden("tasks/fine.jpg")));
}

TEST(Image, NamesOfImagesEndLikeOneOrAreFilesOfImages) {
  testing::TemporaryFolder temporary;
  for (const char* name : {"a.png", "a.b.JPG", "a.jpeg", "x/a.webp", "a.ppm", "A.PGM"})
    EXPECT_TRUE(data::names_image(name, temporary.path())) << name;
  testing::write_file(temporary.path(), "letters", "P2 1 1 255 7");
  testing::write_file(temporary.path(), "text", "P2");
  EXPECT_TRUE(data::names_image("letters", temporary.path()));
  for (const char* name : {"text", "none", "png", "a.png.txt", "a cat", ""})
    EXPECT_FALSE(data::names_image(name, temporary.path())) << name;
}

// A pipe can be read only once. If the detection read a pipe that contains a list of files, the beginning of
// the list would be lost.
TEST(Image, DetectionOfTheFormatDoesNotReadPipes) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string name = "/dev/fd/" + std::to_string(ends[0]), list = "first.png\nsecond.png\n";
  ASSERT_EQ(::write(ends[1], list.data(), list.size()), std::ssize(list));
  ::close(ends[1]);
  EXPECT_FALSE(data::looks_like_image(name));
  EXPECT_FALSE(data::looks_like_sound(name));
  EXPECT_EQ(read_decompressed(name), list);
  ::close(ends[0]);
}

// Pillow's constants of the Hamming window are floats. With constants of double precision, this pixel is 145.
TEST(Image, TheHammingWindowHasThePrecisionOfPillow) {
  Image image{1, 226, {}};
  for (int i = 0; i < 226; ++i)
    image.pixels.insert(image.pixels.end(), 3, std::uint8_t((i * i * 7 + i * 31) % 256));
  EXPECT_EQ(data::resize(image, 1, 89, data::Resampling::hamming).at(0, 26)[0], 144);
}

TEST(Image, PlainAndDeepPixmapsAreRead) {
  testing::TemporaryFolder temporary;
  testing::write_file(temporary.path(), "plain.ppm", "P3 # colours\n2 1 # size\n15\n15 0 7  1 2 3\n");
  const Image plain = data::read_images(temporary / "plain.ppm")[0];
  EXPECT_EQ(plain.pixels, (std::vector<std::uint8_t>{255, 0, 119, 17, 34, 51}));
  // comments before and after every number, and at the end of the file
  testing::write_file(temporary.path(), "comments.pgm", "P2#a\n#b\n3#c\n\t1\r255 0 128#d\n255#e");
  EXPECT_EQ(data::read_images(temporary / "comments.pgm")[0].pixels,
            (std::vector<std::uint8_t>{0, 0, 0, 128, 128, 128, 255, 255, 255}));
  const auto refused = [&](const std::string& bytes, const char* message) {
    testing::write_file(temporary.path(), "wrong", bytes);
    EXPECT_REGARD_ERROR(data::read_images(temporary / "wrong"), ErrorKind::bad_file, message);
  };
  refused("P2 2 1 7\n7 8", "a number in the image file is too large (expected at most 7)");
  refused(std::string("P5 2 1 7\n\7\10", 11),
          "a pixel exceeds the maximum colour value (expected at most 7, "
          "found 8)");
  refused("P2 2 1 65536\n7 8", "a number in the image file is too large (expected at most 65535)");
  refused("P2 2 1 0\n7 8", "the maximum colour value is 0 (expected 1 to 65535)");
  refused("P2 2 x 7\n7 8", "a number in the image file is missing (expected digits)");
  refused("P6 2 1 255\nabcde",
          "the image ends before its last pixel (expected at least 6 bytes of pixels, "
          "found 5 bytes of pixels)");
  refused("P5 2 1 256\nabc", "expected at least 4 bytes of pixels");
  testing::write_file(temporary.path(), "deep.pgm", std::string("P5 1 2 65535\n\xff\xff\x80\x00", 17));
  const Image deep = data::read_images(temporary / "deep.pgm")[0];
  EXPECT_EQ(deep.pixels, (std::vector<std::uint8_t>{255, 255, 255, 128, 128, 128}));
}

}  // namespace
}  // namespace regard::testing
