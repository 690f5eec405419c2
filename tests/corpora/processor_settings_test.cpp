// Settings of image and sound processors: what is written is read again, defaults, and errors of every key.
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "data/image_processor.h"
#include "data/sound_processor.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::data {
namespace {

class ProcessorSettings : public ::testing::Test {
 protected:
  void write(const std::string& text) const {
    write_file_atomically(folder_ / "preprocessor_config.json", text);
  }
  ImageProcessor image(const std::string& text) const {
    write(text);
    return ImageProcessor::open(folder_.path(), 32, 48);
  }
  SoundProcessor sound(const std::string& text, std::int64_t frames = 0, std::int64_t bins = 80) const {
    write(text);
    return SoundProcessor::open(folder_.path(), frames, bins);
  }
  void expect_wrong_image(const std::string& text, const std::string& message) const {
    EXPECT_REGARD_ERROR(image(text), ErrorKind::bad_file, message);
  }
  void expect_wrong_sound(const std::string& text, const std::string& message) const {
    EXPECT_REGARD_ERROR(sound(text), ErrorKind::bad_file, message);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(ProcessorSettings, ImagesWithoutSettingsAreResized) {
  EXPECT_EQ(ImageProcessor::open(folder_.path(), 32, 48).to_json(), Json::parse(R"({
      "image_processor_type": "ViTImageProcessor", "do_resize": true, "size": {"height": 32, "width": 48},
      "resample": 2, "do_center_crop": false, "crop_size": {"height": 224, "width": 224},
      "do_rescale": true, "rescale_factor": 0.00392156862745098, "do_normalize": true,
      "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})"));
}

TEST_F(ProcessorSettings, OfImagesAreReadAsWritten) {
  const Json settings = Json::parse(R"({
      "image_processor_type": "ViTImageProcessor", "do_resize": false, "size": {"shortest_edge": 11},
      "resample": 5, "do_center_crop": true, "crop_size": {"height": 9, "width": 10},
      "do_rescale": false, "rescale_factor": 0.25, "do_normalize": false,
      "image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]})");
  EXPECT_EQ(image(settings.dump()).to_json(), settings);
  const ImageProcessor one =
      image(R"({"image_mean": 0.25, "image_std": null, "crop_size": 7, "size": null})");
  EXPECT_EQ(one.mean, (std::array<float, 3>{0.25f, 0.25f, 0.25f}));
  EXPECT_EQ(one.deviation, (std::array<float, 3>{0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(one.crop_height, 7);
  EXPECT_EQ(one.crop_width, 7);
  EXPECT_EQ(one.height, 32);
  EXPECT_EQ(one.width, 48);
}

TEST_F(ProcessorSettings, WrongOnesOfImagesNameTheirKey) {
  const char* const sides = "\"size\" has a wrong value (expected height and width, or shortest_edge, found ";
  expect_wrong_image(R"({"size": "big"})", sides + std::string("the string \"big\")"));
  expect_wrong_image(R"({"size": {"height": 3}})", sides + std::string("an object)"));
  expect_wrong_image(R"({"size": {"shortest_edge": 3, "longest_edge": 4}})", "expected shortest_edge only");
  expect_wrong_image(R"({"crop_size": {"shortest_edge": 3}})", "\"crop_size\" has a wrong value");
  expect_wrong_image(R"({"size": 0})", "size");
  EXPECT_EQ(image(R"({"size": {"height": 1, "width": 65536}})").width, 65536);
  expect_wrong_image(R"({"size": {"height": 1, "width": 65537}})", "width");
  EXPECT_EQ(image(R"({"resample": 0})").filter, Resampling::nearest);
  expect_wrong_image(R"({"resample": 6})", "resample");
  expect_wrong_image(R"({"resample": -1})", "resample");
  expect_wrong_image(
      R"({"image_mean": [1, 2]})",
      "\"image_mean\" has a wrong value (expected three numbers, one per colour channel, found");
  expect_wrong_image(R"({"image_std": [1, 2, 0]})",
                     "\"image_std\" has a wrong value (expected numbers above 0, found");
}

TEST_F(ProcessorSettings, TheShorterEdgeKeepsTheAspectRatio) {
  ImageProcessor processor;
  processor.shortest_edge = 10;
  const auto size = [&](std::int64_t height, std::int64_t width) {
    const Image shaped = processor.shape(blank_image(height, width, ""));
    return std::pair(shaped.height, shaped.width);
  };
  EXPECT_EQ(size(20, 45), std::pair(std::int64_t{10}, std::int64_t{22}));
  EXPECT_EQ(size(45, 20), std::pair(std::int64_t{22}, std::int64_t{10}));
  EXPECT_EQ(size(1, 6553), std::pair(std::int64_t{10}, std::int64_t{65530}));
  EXPECT_REGARD_ERROR(size(1, 6554), ErrorKind::invalid_input,
                      "the aspect ratio of the image is too large for resizing (expected a longer side of at "
                      "most 65536 pixels after resizing, found 6554 × 1 pixels)");
  const Image images[] = {blank_image(20, 45, ""), blank_image(20, 40, "")};
  EXPECT_REGARD_ERROR(processor.apply(images), ErrorKind::usage,
                      "the images of a batch differ in size (expected 22 × 10, found 20 × 10)");
}

TEST_F(ProcessorSettings, SoundsWithoutSettings) {
  const SoundProcessor samples = SoundProcessor::open(folder_.path(), 0, 1);
  EXPECT_EQ(samples.kind, SoundProcessor::Kind::samples);
  EXPECT_TRUE(samples.normalise);
  EXPECT_EQ(samples.most_seconds(), 3600.0);
  const SoundProcessor whisper = SoundProcessor::open(folder_.path(), 300, 80);
  EXPECT_EQ(whisper.kind, SoundProcessor::Kind::whisper);
  EXPECT_FALSE(whisper.normalise);
  EXPECT_EQ(whisper.samples, 300 * 160);
  EXPECT_EQ(whisper.most_seconds(), 3.0);
}

TEST_F(ProcessorSettings, OfSoundsAreReadAsWritten) {
  const Json whisper = Json::parse(R"({"sampling_rate": 8000, "do_normalize": true,
      "padding_value": 0.0, "feature_extractor_type": "WhisperFeatureExtractor", "feature_size": 12, "n_fft": 300,
      "hop_length": 80, "chunk_length": 7, "n_samples": 56000, "nb_max_frames": 700,
      "return_attention_mask": false})");
  EXPECT_EQ(sound(whisper.dump()).to_json(), whisper);
  EXPECT_EQ(sound(whisper.dump()).most_seconds(), 7.0);
  const Json ast = Json::parse(R"({"sampling_rate": 8000, "do_normalize": false,
      "padding_value": 0.0, "feature_extractor_type": "ASTFeatureExtractor", "feature_size": 1,
      "num_mel_bins": 64, "max_length": 45, "mean": -3.5, "std": 2.25, "return_attention_mask": false})");
  EXPECT_EQ(sound(ast.dump()).to_json(), ast);
  EXPECT_NEAR(sound(ast.dump()).most_seconds(), (45 * 160 + 400) / 8000.0, 1e-12);
  const Json samples = Json::parse(R"({"sampling_rate": 22050, "do_normalize": false,
      "padding_value": 0.0, "feature_extractor_type": "Wav2Vec2FeatureExtractor", "feature_size": 1,
      "return_attention_mask": true})");
  EXPECT_EQ(sound(samples.dump()).to_json(), samples);
  EXPECT_TRUE(sound(R"({"feature_extractor_type": "Wav2Vec2FeatureExtractor"})").normalise);
  EXPECT_TRUE(sound(R"({"feature_extractor_type": "ASTFeatureExtractor"})").normalise);
  EXPECT_EQ(sound(R"({"feature_extractor_type": "WhisperFeatureExtractor", "n_fft": null})").samples, 480000);
}

TEST_F(ProcessorSettings, LimitsOfSounds) {
  const auto whisper = [&](const std::string& key, std::int64_t value) {
    return R"({"feature_extractor_type": "WhisperFeatureExtractor", ")" + key +
           "\": " + std::to_string(value) + "}";
  };
  const auto expect_range = [&](const std::string& key, std::int64_t low, std::int64_t high) {
    for (const std::int64_t value : {low, high}) EXPECT_NO_THROW(sound(whisper(key, value))) << key << value;
    for (const std::int64_t value : {low - 1, high + 1}) expect_wrong_sound(whisper(key, value), key);
  };
  expect_range("feature_size", 1, 1024);
  expect_range("hop_length", 1, 400);  // at most a window
  expect_range("chunk_length", 1, 3600);
  for (const int value : {1, 65537}) expect_wrong_sound(whisper("n_fft", value), "n_fft");
  expect_wrong_sound(R"({"feature_extractor_type": "X"})",
                     "\"feature_extractor_type\" is missing or has a wrong value (expected "
                     "WhisperFeatureExtractor, ASTFeatureExtractor or Wav2Vec2FeatureExtractor, found the "
                     "string \"X\")");
  expect_wrong_sound("{}", "found no such key");
}

// The mean of the samples becomes 0 and their variance 1. Silence stays silent.
TEST(NormalisedSamples, HaveMean0AndVariance1) {
  std::vector<float> samples{1.0f, 2.0f, 3.0f, 6.0f};
  normalise_samples(samples);
  const double deviation = std::sqrt(3.5 + 1e-7);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(static_cast<double>(samples[i]), (std::vector{-2.0, -1.0, 0.0, 3.0})[i] / deviation, 1e-7);
}

TEST(ReflectedStart, RepeatsTheSamplesAfterTheFirst) {
  const std::vector<float> sound{1.0f, 2.0f, 3.0f, 4.0f};
  EXPECT_EQ(reflected_start(sound, 3), (std::vector<float>{4.0f, 3.0f, 2.0f}));
  EXPECT_EQ(reflected_start(sound, 5), (std::vector<float>{0.0f, 0.0f, 4.0f, 3.0f, 2.0f}));
  EXPECT_EQ(reflected_start({}, 2), (std::vector<float>{0.0f, 0.0f}));
}

}  // namespace
}  // namespace regard::data
