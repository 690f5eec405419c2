// Four threads use transcribers, captioners, encoders of images and texts, and studies at the same time. Each
// test runs once with one object per thread and once with one object that all threads share, and does both
// with a pool of one thread and a pool of two threads.
#include <filesystem>

#include "api/together.h"
#include "support/caption_model.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

using MediaTogether = ObjectsTogether;
INSTANTIATE_TEST_SUITE_P(Pools, MediaTogether,
                         ::testing::Combine(::testing::Values(1, 2), ::testing::Bool()));

// A temperature above 0 samples, with the seed of the options.
TEST_P(MediaTogether, ReadersOfSounds) {
  const auto sound = golden("sound/whisper-small") / "short.wav";
  const auto models = objects([] { return load(golden("sound/whisper-small")); });
  const auto transcribers = objects([] { return Transcriber(load(golden("sound/whisper-small"))); });
  const auto transcript = [&](const Transcriber& transcriber) {
    return Bits().add(format(transcriber.transcribe(sound), "json"));
  };
  expect_bits_of_each_alone(
      {
          {"transcribe", [&](int t) { return transcript(transcribers->of(t)); }},
          {"sample",
           [&](int t) {
             return transcript(Transcriber(models->of(t), {.language = "en", .temperatures = {0.5}}));
           }},
          {"word times",
           [&](int t) {
             return transcript(
                 Transcriber(models->of(t), {.translate = true, .beam = 2, .word_times = true}));
           }},
      },
      1);
}

TEST_P(MediaTogether, WritersAboutImages) {
  const TemporaryFolder place;
  const auto folder = write_caption_model(place / "captioner");
  const auto image = golden("pictures/turned1.jpg"), other = golden("pictures/deep.png");
  const auto models = objects([&] { return load(folder); });
  const auto captioners = objects([&] { return Captioner(load(folder), {.max_new = 6}); });
  const auto encoders = objects([] { return ImageTextEncoder(load(golden("hf-more/clip-words"))); });
  expect_bits_of_each_alone(
      {
          {"caption", [&](int t) { return Bits().add(captioners->of(t).caption(image)); }},
          {"caption with a beam",
           [&](int t) {
             return Bits().add(Captioner(models->of(t), {.beam = 3, .max_new = 6}).caption(other));
           }},
          {"embed", [&](int t) { return Bits().add(encoders->of(t).embed("a cat")); }},
          {"embed images", [&](int t) { return Bits().add(encoders->of(t).embed_images(image)); }},
          {"classify",
           [&](int t) {
             return Bits().add(encoders->of(t).classify(other, {"a cat", "a dog"}));
           }},
      },
      2);
}

TEST_P(MediaTogether, Studies) {
  const TemporaryFolder folder;
  write_text_model(folder / "gpt", "gpt", 64);
  const auto models = objects([&] { return load(folder / "gpt"); });
  std::vector<Entry> entries;
  for (const char* view : {"kinds", "heads", "lens", "tokens"})
    entries.push_back({view, [&models, view](int t) {
                         const StudyOptions options{.text = "the fox is", .answer = "o", .steps = 4};
                         return Bits().add(format(study(models->of(t), view, options), "json"));
                       }});
  expect_bits_of_each_alone(entries, 1);
}

}  // namespace
}  // namespace regard::testing
