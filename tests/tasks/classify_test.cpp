// Labels compared with transformers' text-classification and image-classification pipelines.
#include "tasks/classify.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"
#include "tasks/image_reader.h"

namespace regard::testing {
namespace {

using tasks::Classifier;
using tasks::ClassifyOptions;
using tasks::ImageReader;
using tasks::LabelScore;
using tasks::Scores;

infer::LoadedModel opened(const std::string& name, InputKind reads = InputKind::tokens) {
  return infer::LoadedModel::open(testing::golden(name), {.reads = reads});
}

std::optional<Scores> scores_of(const Json& options) {
  const std::string name = options.value("function_to_apply", "");
  if (name.empty()) return std::nullopt;
  return name == "none" ? Scores::plain : name == "sigmoid" ? Scores::sigmoid : Scores::softmax;
}

void expect_labels(const std::vector<LabelScore>& labels, const Json& golden, double tolerance) {
  ASSERT_EQ(labels.size(), golden.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    EXPECT_EQ(labels[i].label, golden[i]["label"].get<std::string>());
    EXPECT_NEAR(static_cast<double>(labels[i].score), golden[i]["score"].get<double>(), tolerance);
  }
}

std::span<const float> row_of(const Tensor& scores, std::int64_t row) {
  return {scores.row(row), static_cast<std::size_t>(scores.columns())};
}

TEST(Classify, TextsAndPairsGetTheLabelsOfTheTextClassificationPipeline) {
  const Json golden = read_json(testing::golden("tasks/classes.json").string());
  ThreadPool pool(2);
  std::map<std::string, infer::LoadedModel> models;
  for (const Json& one : golden["cases"]) {
    SCOPED_TRACE(one["text"].dump() + " " + one["options"].dump());
    const auto name = one["model"].get<std::string>();
    if (!models.contains(name)) models.emplace(name, opened(name));
    ClassifyOptions options;
    options.scores = scores_of(one["options"]);
    Classifier classifier(models.at(name), pool, options);
    const Json& text = one["text"];
    const tasks::Input inputs[] = {
        text.is_array() ? classifier.read(text[0].get<std::string>(), text[1].get<std::string>())
                        : classifier.read(text.get<std::string>())};
    const std::size_t count =
        one["options"]["top_k"].is_null() ? 99 : one["options"]["top_k"].get<std::size_t>();
    expect_labels(classifier.best(row_of(classifier.scores(inputs), 0), count), one["labels"], 2e-5);
  }
}

TEST(Classify, ScoresDoNotDependOnCompany) {
  const infer::LoadedModel model = opened("hf-more/bert-multilabel");
  ThreadPool pool(2);
  Classifier classifier(model, pool);
  std::vector<tasks::Input> inputs;
  for (int i = 0; i < 70; ++i)
    inputs.push_back(classifier.read("river" + std::string(static_cast<std::size_t>(i % 37), 's')));
  const Tensor together = classifier.scores(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor alone = classifier.scores(std::span(&inputs[i], 1));
    for (std::int64_t k = 0; k < alone.columns(); ++k)
      EXPECT_EQ(alone.row(0)[k], together.row(static_cast<std::int64_t>(i))[k]);
  }
}

TEST(Classify, ImagesGetTheLabelsOfTheImageClassificationPipeline) {
  const Json golden = read_json(testing::golden("tasks/images.json").string());
  const infer::LoadedModel model = opened("hf-tiny/vit", InputKind::pixels);
  ThreadPool pool(2);
  Classifier classifier(model, pool);
  const ImageReader reader(testing::golden("tasks"), model.model->input_spec());
  for (const Json& one : golden["cases"]) {
    const auto file = one["file"].get<std::string>();
    SCOPED_TRACE(file);
    const std::vector<data::Image> images = data::read_images(testing::golden("tasks") / file);
    ASSERT_EQ(images.size(), 1u);
    expect_labels(classifier.best(row_of(classifier.scores(reader.read(images)), 0), 10), one["labels"],
                  2e-5);
  }
}

TEST(Classify, TheFolderSaysWhatScoresAre) {
  const auto scores = [](const char* config, std::int64_t count) {
    return tasks::scores_of(parse_json(config, "config.json"), count, "config.json");
  };
  EXPECT_EQ(scores("{}", 3), Scores::softmax);
  EXPECT_EQ(scores("{}", 1), Scores::sigmoid);
  EXPECT_EQ(scores(R"({"problem_type": null})", 2), Scores::softmax);
  EXPECT_EQ(scores(R"({"problem_type": "regression"})", 1), Scores::plain);
  EXPECT_EQ(scores(R"({"problem_type": "multi_label_classification"})", 4), Scores::sigmoid);
  EXPECT_EQ(scores(R"({"problem_type": "single_label_classification"})", 4), Scores::softmax);
  EXPECT_EQ(scores(R"({"problem_type": "single_label_classification"})", 1), Scores::sigmoid);
  for (const int count : {1, 4})
    EXPECT_REGARD_ERROR(scores(R"({"problem_type": "guess"})", count), ErrorKind::bad_file, "problem_type");
}

TEST(Classify, LabelsThatDoNotFitAreRefused) {
  const auto labels = [](const char* config, std::int64_t count) {
    return tasks::labels_of(parse_json(config, "config.json"), count, "config.json");
  };
  EXPECT_EQ(labels("{}", 2), (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  EXPECT_EQ(labels(R"({"id2label": {"1": "no", "0": "yes"}})", 2), (std::vector<std::string>{"yes", "no"}));
  EXPECT_REGARD_ERROR(labels(R"({"id2label": {"0": "yes"}})", 2), ErrorKind::bad_file,
                      "no name for the label id 1");
  EXPECT_REGARD_ERROR(labels(R"({"id2label": {"0": "yes", "2": "no"}})", 2), ErrorKind::bad_file, "id2label");
  EXPECT_REGARD_ERROR(labels(R"({"id2label": {"0": "a", "00": "b"}})", 2), ErrorKind::bad_file, "id2label");
  EXPECT_REGARD_ERROR(labels(R"({"id2label": ["a", "b"]})", 2), ErrorKind::bad_file, "id2label");
  EXPECT_REGARD_ERROR(labels(R"({"id2label": {"0": 7}})", 1), ErrorKind::bad_file, "id2label.0");
  const infer::LoadedModel model = opened("hf-more/bert-nli");
  ThreadPool pool(1);
  ClassifyOptions options;
  options.labels = {"one", "two"};
  EXPECT_REGARD_ERROR(Classifier(model, pool, options), ErrorKind::bad_file, "3");
  const infer::LoadedModel other = opened("tasks/roberta-qa");
  EXPECT_REGARD_ERROR(Classifier(other, pool), ErrorKind::usage, "not a classifier");
}

}  // namespace
}  // namespace regard::testing
