// CLIP with texts and pictures, compared with transformers' zero-shot-image-classification pipeline and
// CLIPModel.
#include "tasks/image_text.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

class ImageText : public ::testing::Test {
 protected:
  ImageText()
      : pool_(2),
        path_(testing::golden("hf-more/clip-words")),
        golden_(read_json((path_ / "case.json").string())),
        loaded_(infer::LoadedModel::open(path_)),
        encoder_(loaded_, pool_) {
    for (const Json& picture : golden_["pictures"]) {
      const std::vector<data::Image> images =
          data::read_images(testing::golden("pictures") / picture.get<std::string>());
      pictures_.push_back(encoder_.read(images)[0]);
    }
    labels_ = golden_["labels"].get<std::vector<std::string>>();
  }

  static void expect_vectors(const Tensor& found, const Json& golden) {
    ASSERT_EQ(found.rows(), std::ssize(golden));
    for (std::int64_t row = 0; row < found.rows(); ++row) {
      const auto expected = golden[static_cast<std::size_t>(row)].get<std::vector<float>>();
      ASSERT_EQ(found.columns(), std::ssize(expected));
      for (std::int64_t i = 0; i < found.columns(); ++i)
        EXPECT_NEAR(found.row(row)[i], expected[static_cast<std::size_t>(i)], 2e-5f) << row;
    }
  }

  ThreadPool pool_;
  std::filesystem::path path_;
  Json golden_;
  infer::LoadedModel loaded_;
  tasks::ImageTextEncoder encoder_;
  std::vector<tasks::Input> pictures_;
  std::vector<std::string> labels_;
};

TEST_F(ImageText, VectorsAreThoseOfTransformers) {
  std::vector<tasks::Input> texts;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    texts.push_back(encoder_.read(labels_[i]));
    EXPECT_EQ(texts[i].ids, golden_["ids"][i].get<std::vector<std::int32_t>>());
  }
  expect_vectors(encoder_.embed(texts), golden_["text_embeds"]);
  expect_vectors(encoder_.embed(pictures_), golden_["image_embeds"]);
}

TEST_F(ImageText, ScoresAreThoseOfThePipeline) {
  std::size_t compared = 0;
  for (const Json& one : golden_["cases"]) {
    tasks::ZeroShotClassifier classifier(encoder_, labels_, one["pattern"].get<std::string>());
    const auto found = std::find(golden_["pictures"].begin(), golden_["pictures"].end(), one["picture"]);
    const auto at = static_cast<std::size_t>(found - golden_["pictures"].begin());
    const Tensor scores = classifier.scores({&pictures_[at], 1});
    for (const Json& label : one["scores"]) {
      const auto place =
          std::find(labels_.begin(), labels_.end(), label[0].get<std::string>()) - labels_.begin();
      EXPECT_NEAR(scores.f32()[place], label[1].get<float>(), 5e-5f) << one["picture"] << " " << label[0];
      ++compared;
    }
  }
  EXPECT_EQ(compared, 40u);
}

TEST_F(ImageText, TextsAndPicturesOfOneCallMayBeMixed) {
  std::vector<tasks::Input> mixed{encoder_.read("a cat"), pictures_[0], pictures_[1], encoder_.read("a dog")};
  const Tensor all = encoder_.embed(mixed);
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    const Tensor alone = encoder_.embed({&mixed[i], 1});
    EXPECT_EQ(std::memcmp(alone.f32(), all.row(static_cast<std::int64_t>(i)), alone.bytes()), 0) << i;
  }
}

TEST_F(ImageText, SigmoidScoresDoNotDependOnOtherLabels) {
  tasks::ZeroShotClassifier all(encoder_, labels_, "{}"), one(encoder_, {labels_[2]}, "{}");
  all.set_scores(tasks::Scores::sigmoid), one.set_scores(tasks::Scores::sigmoid);
  EXPECT_EQ(all.scores(pictures_).row(1)[2], one.scores(pictures_).row(1)[0]);
}

TEST_F(ImageText, LongTextsKeepTheirEndToken) {
  const tasks::Input input = encoder_.read(
      "photo photo photo photo photo photo photo photo photo photo of red cat dog "
      "red cat dog red cat dog red cat dog red cat dog");
  EXPECT_EQ(input.ids.size(), 24u);
  EXPECT_TRUE(input.cut);
  EXPECT_EQ(input.ids.back(), golden_["ids"][0].back().get<std::int32_t>());
}

TEST_F(ImageText, RequestsWithoutSenseAreRefused) {
  EXPECT_REGARD_ERROR(tasks::ZeroShotClassifier(encoder_, {}, "{}"), ErrorKind::usage, "at least one label");
  EXPECT_REGARD_ERROR(tasks::ZeroShotClassifier(encoder_, labels_, "a photo"), ErrorKind::usage,
                      "expected a text that contains {}");
  const auto bert = infer::LoadedModel::open(testing::golden("hf-more/st-mean"));
  EXPECT_REGARD_ERROR(tasks::ImageTextEncoder(bert, pool_), ErrorKind::usage, "CLIP or SigLIP");
}

}  // namespace
}  // namespace regard::testing
