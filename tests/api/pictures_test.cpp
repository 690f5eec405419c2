// regard/pictures.h: vectors of texts and images, zero-shot classification, and errors; also with several
// threads.
#include "regard/pictures.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "api/together.h"
#include "base/json.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

fs::path clip_folder() {
  return testing::golden("hf-more/clip-words");
}

std::vector<fs::path> pictures(const Json& about) {
  std::vector<fs::path> files;
  for (const Json& name : about["pictures"])
    files.push_back(testing::golden("pictures") / name.get<std::string>());
  return files;
}

TEST(ImageTextEncoder, GivesTheVectorsAndLabelsOfTransformers) {
  const Json about = read_json((clip_folder() / "case.json").string());
  const auto labels = about["labels"].get<std::vector<std::string>>();
  const ImageTextEncoder encoder(load(clip_folder()));
  EXPECT_EQ(encoder.size(), 8);
  const Tensor texts = encoder.embed(labels), images = encoder.embed_images(pictures(about));
  for (std::size_t row = 0; row < labels.size(); ++row)
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(texts.row(static_cast<std::int64_t>(row))[i], about["text_embeds"][row][i].get<float>(),
                  2e-5f);
  const Tensor like = encoder.similarities(texts, images);
  EXPECT_EQ(like.shape(), (Shape{4, 5}));
  double cosine = 0;
  for (std::size_t i = 0; i < 8; ++i)
    cosine += about["text_embeds"][1][i].get<double>() * about["image_embeds"][2][i].get<double>();
  EXPECT_NEAR(like.row(1)[2], cosine, 1e-4);
  const auto best = encoder.classify(pictures(about)[0], labels);
  ASSERT_EQ(best.size(), 1u);
  ASSERT_EQ(best[0].size(), labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(best[0][i].name, about["cases"][0]["scores"][i][0].get<std::string>());
    EXPECT_NEAR(best[0][i].score, about["cases"][0]["scores"][i][1].get<float>(), 5e-5f);
  }
}

TEST(ImageTextEncoder, MayBeUsedFromSeveralThreads) {
  const Json about = read_json((clip_folder() / "case.json").string());
  const ImageTextEncoder encoder(load(clip_folder()));
  const std::vector<fs::path> files = pictures(about);
  const Tensor text = encoder.embed("a cat"), image = encoder.embed_images(files[0]);
  std::array<bool, 4> same{};
  testing::on_four_threads([&](int thread) {
    const Tensor again = encoder.embed("a cat"), seen = encoder.embed_images(files[0]);
    same[static_cast<std::size_t>(thread)] = std::memcmp(again.f32(), text.f32(), text.bytes()) == 0 &&
                                             std::memcmp(seen.f32(), image.f32(), image.bytes()) == 0 &&
                                             encoder.classify(files[1], {"a cat", "a dog"})[0].size() == 2;
  });
  for (const bool result : same) EXPECT_TRUE(result);
}

TEST(ImageTextEncoder, RefusesWhatItCannotRead) {
  const ImageTextEncoder encoder(load(clip_folder()));
  EXPECT_REGARD_ERROR(encoder.embed(std::string_view("\xff")), ErrorKind::invalid_input, "UTF-8");
  EXPECT_REGARD_ERROR(encoder.embed_images(testing::golden("pictures/animated.gif")), ErrorKind::bad_file,
                      "GIF");
  EXPECT_REGARD_ERROR(encoder.classify(testing::golden("pictures/deep.png"), {}), ErrorKind::usage, "label");
  EXPECT_REGARD_ERROR(ImageTextEncoder(load(testing::golden("hf-more/st-mean"))), ErrorKind::usage,
                      "CLIP or SigLIP");
  ImageTextEncoder moved = encoder;
  const ImageTextEncoder taken = std::move(moved);
  EXPECT_REGARD_ERROR(moved.size(), ErrorKind::usage, "ImageTextEncoder");
  EXPECT_EQ(taken.size(), 8);
}

TEST(ImageTextEncoder, InterventionsChangeOneEncoder) {
  const Json about = read_json((clip_folder() / "case.json").string());
  const Model model = load(clip_folder());
  const ImageTextEncoder whole(model),
      same(model, {.interventions = {"zero vision.encoder.0.0 positions=9000"}});
  const ImageTextEncoder off(model, {.interventions = {"zero vision.encoder.0.0"}});
  const fs::path file = pictures(about)[0];
  const auto equal = [](const Tensor& a, const Tensor& b) {
    return std::memcmp(a.f32(), b.f32(), a.bytes()) == 0;
  };
  EXPECT_TRUE(equal(whole.embed("a cat"), off.embed("a cat")));
  EXPECT_TRUE(equal(whole.embed_images(file), same.embed_images(file)));
  EXPECT_FALSE(equal(whole.embed_images(file), off.embed_images(file)));
  EXPECT_REGARD_ERROR(ImageTextEncoder(model, {.interventions = {"zero encoder.0.0"}}), ErrorKind::usage,
                      "two encoders");
  EXPECT_REGARD_ERROR(ImageTextEncoder(model, {.interventions = {"zero audio.encoder.0.0"}}),
                      ErrorKind::usage, "invalid place");
}

TEST(Captioner, NeedsAModelThatWritesAboutImages) {
  EXPECT_REGARD_ERROR(Captioner(load(testing::golden("hf-more/st-mean"))), ErrorKind::usage, "image");
  EXPECT_REGARD_ERROR(Captioner(load(testing::golden("hf-tiny/vit"))), ErrorKind::usage,
                      "generate text from images");
}

}  // namespace
}  // namespace regard::testing
