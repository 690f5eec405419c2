// Sounds of a run: which are left out, the cache of their features, and the preprocessing of new models.
#include <gtest/gtest.h>

#include <cmath>

#include "models/weights.h"
#include "ops/parameter.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/wav.h"
#include "train/corpora_tokens.h"
#include "train/new_families.h"
#include "train/run_config.h"
#include "train/sounds.h"

namespace regard::train {
namespace {

class SoundCache : public ::testing::Test {
 protected:
  SoundCache() {
    config_.task = "speech-recognition";
    config_.model.family = "whisper";
    config_.sound.seconds = 1;
    config_.sound.bins = 8;
    config_.data.train = config_.data.valid = {(folder_ / "rows.tsv").string()};
    config_.data.columns = {"1", "2"};
    config_.data.cache = "never";
    config_.output.folder = (folder_ / "run").string();
  }
  void write_sound(const std::string& name, std::size_t samples, std::int16_t value = 100) {
    std::vector<std::int16_t> sound(samples, value);
    for (std::size_t i = 0; i < samples; i += 2) sound[i] = 0;
    regard::testing::write_file(folder_.path(), name, regard::testing::wav_file(sound));
  }
  void write_rows(const std::string& rows) { regard::testing::write_file(folder_.path(), "rows.tsv", rows); }
  Sounds load(TooLong too_long = TooLong::skip) {
    Sounds sounds;
    notes_.clear();
    sounds.load(read_sounds(config_).train, SoundInput(config_), config_, too_long, pool_, notes_);
    return sounds;
  }
  // Return the first two words of the only note.
  std::string what() {
    EXPECT_EQ(notes_.size(), 1u);
    return notes_.empty() ? "" : notes_[0].substr(0, notes_[0].find(' ', notes_[0].find(' ') + 1));
  }

  const regard::testing::TemporaryFolder folder_;
  ThreadPool pool_{1};
  RunConfig config_;
  std::vector<std::string> notes_;
};

TEST_F(SoundCache, SoundsWithoutSamplesAndTooLongSoundsAreLeftOut) {
  write_sound("none.wav", 0);
  write_sound("second.wav", 16000);
  write_sound("more.wav", 16001);
  write_sound("quarter.wav", 4000);
  write_rows("none.wav\ta\nsecond.wav\tb\nmore.wav\tc\nquarter.wav\td\n");
  const Sounds skipped = load(TooLong::skip);
  ASSERT_EQ(skipped.size(), 2u);
  EXPECT_EQ(skipped.left_out(), 2);
  EXPECT_EQ(skipped.row(0).text + skipped.row(1).text, "bd");
  EXPECT_EQ(skipped.seconds(0), 1.0);
  EXPECT_EQ(skipped.seconds(1), 0.25);
  EXPECT_TRUE(notes_.empty());
  const Sounds cut = load(TooLong::cut);
  ASSERT_EQ(cut.size(), 3u);
  EXPECT_EQ(cut.left_out(), 1);
  EXPECT_EQ(cut.row(1).text, "c");
  EXPECT_EQ(cut.seconds(1), 1.0);
  const Tensor all = cut.features(0), same = cut.features(1);
  EXPECT_TRUE(std::equal(all.f32(), all.f32() + all.elements(), same.f32()))
      << "only the first second counts";
}

TEST_F(SoundCache, DependsOnTheSoundsAndNotOnTheTexts) {
  config_.data.cache = "always";
  write_sound("a.wav", 4000);
  write_sound("b.wav", 8000);
  write_rows("a.wav\tone\nb.wav\ttwo\n");
  const Sounds first = load();
  EXPECT_EQ(what(), "features: written");
  const Sounds again = load();
  EXPECT_EQ(what(), "features: read");
  EXPECT_EQ(again.fingerprint(), first.fingerprint());
  for (std::size_t i = 0; i < 2; ++i) {
    const Tensor a = first.features(i), b = again.features(i);
    EXPECT_TRUE(std::equal(a.f32(), a.f32() + a.elements(), b.f32()));
  }
  write_rows("a.wav\tone\nb.wav\tthree\n");
  EXPECT_NE(load().fingerprint(), first.fingerprint());
  EXPECT_EQ(what(), "features: read");
  write_sound("b.wav", 8000, 200);
  const Sounds other = load();
  EXPECT_EQ(what(), "features: written");
  EXPECT_NE(other.fingerprint(), first.fingerprint());
  config_.sound.bins = 9;
  EXPECT_EQ(load().features(0).columns(), 9);
  EXPECT_EQ(what(), "features: written");
}

TEST_F(SoundCache, IsWrittenAgainIfDamagedAndNotIfItMayOnlyBeRead) {
  config_.data.cache = kReadCache;
  write_sound("a.wav", 4000);
  write_rows("a.wav\tone\n");
  load();
  EXPECT_TRUE(notes_.empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "feature-cache"));
  config_.data.cache = "always";
  load();
  EXPECT_EQ(what(), "features: written");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "feature-cache"))
    if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
  load();
  ASSERT_EQ(notes_.size(), 2u);
  EXPECT_TRUE(notes_[0].starts_with("features: the cache is damaged: ")) << notes_[0];
  EXPECT_TRUE(notes_[1].starts_with("features: written to ")) << notes_[1];
  config_.output.folder.clear();
  load();
  EXPECT_TRUE(notes_.empty()) << "there is no place for a cache";
}

TEST_F(SoundCache, TheDataMustHaveTwoParts) {
  check_sounds(config_, "a and b");
  config_.data.columns = {"1"};
  EXPECT_REGARD_ERROR(
      check_sounds(config_, "a and b"), ErrorKind::usage,
      "'speech-recognition' must have two parts: a and b (expected 2 columns, such as columns "
      "= [1, 2], found 1 column)");
  config_.data.columns = {"1", "2"};
  config_.data.valid = {"a.txt"};
  EXPECT_REGARD_ERROR(check_sounds(config_, "a and b"), ErrorKind::usage,
                      "expected 2 line-aligned files, found 1 file");
  config_.data.valid = {"a.txt", "b.txt"};
  check_sounds(config_, "a and b");
  SoundConfig masks;
  refuse_feature_masks(masks);
  masks.mask_bins = 0.1;
  EXPECT_REGARD_ERROR(refuse_feature_masks(masks), ErrorKind::usage,
                      "expected a model that reads mel features");
  masks.mask_bins = 0.0, masks.mask_frames = 0.1;
  EXPECT_REGARD_ERROR(refuse_feature_masks(masks), ErrorKind::usage,
                      "expected a model that reads mel features");
}

TEST_F(SoundCache, NewModelsHaveTheProcessorOfTheirFamily) {
  using Kind = data::SoundProcessor::Kind;
  config_.sound.seconds = 3;
  const auto processor = [&](const char* family) {
    config_.model.family = family;
    return SoundInput(config_).processor();
  };
  EXPECT_EQ(processor("whisper").kind, Kind::whisper);
  EXPECT_EQ(processor("whisper").samples, 48000);
  EXPECT_EQ(processor("whisper").bins, 8);
  EXPECT_FALSE(processor("whisper").normalise);
  EXPECT_EQ(processor("wav2vec2").kind, Kind::samples);
  EXPECT_EQ(processor("wav2vec2").bins, 1);
  EXPECT_TRUE(processor("wav2vec2").normalise);
  EXPECT_EQ(processor("audio-spectrogram-transformer").kind, Kind::ast);
  EXPECT_EQ(processor("audio-spectrogram-transformer").frames, 300);
  EXPECT_EQ(processor("audio-spectrogram-transformer").bins, 8);
}

std::unique_ptr<Network> new_model(const char* name, const TransformerConfig& sizes,
                                   const SoundConfig& sound) {
  const NewFamily& family = *find_new_family(name);
  auto model = make_model(family.config({sizes, 20, {0, 1, 2, 1}, 16, nullptr, &sound}), "[model]");
  initialise(*model, 1);
  family.initialise(*model);
  return model;
}

// The positions of Whisper's encoder are the sines and cosines of transformers' sinusoids().
TEST(NewSoundFamilies, WhisperHasSinusoids) {
  TransformerConfig sizes;
  sizes.encoder_layers = sizes.decoder_layers = 1;
  sizes.hidden_size = 8, sizes.heads = 2, sizes.feed_forward_size = 8;
  SoundConfig sound;
  sound.seconds = 1, sound.bins = 8;
  const auto model = new_model("whisper", sizes, sound);
  int compared = 0;
  for (const Parameter* parameter : model->parameters()) {
    if (!parameter->name.ends_with("encoder.embed_positions.weight")) continue;
    const Tensor& value = parameter->value();
    ASSERT_EQ(value.rows(), 50);
    ASSERT_EQ(value.columns(), 8);
    for (std::int64_t position = 0; position < 50; ++position)
      for (std::int64_t i = 0; i < 4; ++i, ++compared) {
        const double angle = static_cast<double>(position) / std::pow(10000.0, static_cast<double>(i) / 3);
        EXPECT_NEAR(value.row(position)[i], std::sin(angle), 1e-6);
        EXPECT_NEAR(value.row(position)[4 + i], std::cos(angle), 1e-6);
      }
  }
  EXPECT_EQ(compared, 200);
}

// The position convolution has weight normalisation: the scale of each kernel position is the norm of its
// weights.
TEST(NewSoundFamilies, Wav2Vec2HasTheNormsOfItsConvolution) {
  TransformerConfig sizes;
  sizes.layers = 1, sizes.hidden_size = 8, sizes.heads = 2, sizes.feed_forward_size = 8;
  SoundConfig sound;
  sound.channels = 4;
  const auto model = new_model("wav2vec2", sizes, sound);
  const Parameter *scales = nullptr, *weights = nullptr;
  for (const Parameter* parameter : model->parameters()) {
    if (parameter->name.ends_with("weight.original0")) scales = parameter;
    if (parameter->name.ends_with("weight.original1")) weights = parameter;
  }
  ASSERT_TRUE(scales != nullptr && weights != nullptr);
  const std::int64_t kernel = weights->value().shape().back();
  ASSERT_EQ(scales->value().elements(), kernel);
  for (std::int64_t k = 0; k < kernel; ++k) {
    double sum = 0;
    for (std::int64_t i = k; i < weights->value().elements(); i += kernel)
      sum += std::pow(static_cast<double>(weights->value().f32()[i]), 2);
    ASSERT_GT(sum, 0);
    EXPECT_NEAR(scales->value().f32()[k], std::sqrt(sum), 1e-6);
  }
}

}  // namespace
}  // namespace regard::train
