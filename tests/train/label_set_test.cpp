// Labels of a run: the checks of [labels], the order of the labels, and the weights of the loss.
#include "train/label_set.h"

#include <gtest/gtest.h>

#include "support/throws.h"

namespace regard::train {
namespace {

using Names = std::vector<std::string>;

TEST(LabelSet, NamesAndWeightsMustMatch) {
  LabelConfig config;
  check_labels(config);
  config.weights = {1.0, 2.0};
  check_labels(config);
  config.names = {"low", "high"};
  check_labels(config);
  config.weights.clear();
  check_labels(config);
  for (const std::vector<double>& weights : {std::vector<double>{1.0}, {1.0, 2.0, 3.0}}) {
    config.weights = weights;
    EXPECT_REGARD_ERROR(check_labels(config), ErrorKind::usage, "differ in length");
    EXPECT_REGARD_ERROR(check_labels(config), ErrorKind::usage, std::to_string(weights.size()) + " weight");
  }
  config.weights.clear(), config.names = {"low", "high", "low"};
  EXPECT_REGARD_ERROR(check_labels(config), ErrorKind::usage, "'low'");
  config.names = {"low", ""};
  EXPECT_REGARD_ERROR(check_labels(config), ErrorKind::usage, "an empty label");
}

TEST(LabelSet, TheRunFileComesBeforeTheData) {
  LabelConfig config;
  EXPECT_EQ(choose_labels(config, {"b", "a"}, 2, "train.tsv").names(), (Names{"b", "a"}));
  EXPECT_REGARD_ERROR(choose_labels(config, {"b"}, 2, "train.tsv"), ErrorKind::bad_file, "found 1 label)");
  EXPECT_REGARD_ERROR(choose_labels(config, {}, 1, "train.tsv"), ErrorKind::bad_file, "found 0 labels)");
  config.names = {"a", "b", "c"};
  EXPECT_EQ(choose_labels(config, {"b"}, 2, "train.tsv").names(), config.names);
}

TEST(LabelSet, TheOrderOfTheFolderIsKeptIfItHasAllLabels) {
  LabelConfig config;
  const LabelSet labels(Names{"a", "b"});
  EXPECT_EQ(ordered_as(labels, config, {"c", "b", "a"}).names(), (Names{"c", "b", "a"}));
  EXPECT_EQ(ordered_as(labels, config, {"c", "b"}).names(), labels.names());
  config.names = labels.names();
  EXPECT_EQ(ordered_as(labels, config, {"c", "b", "a"}).names(), labels.names());
}

TEST(LabelSet, WeightsAreGivenOrBalanced) {
  LabelConfig config;
  const LabelSet labels(Names{"a", "b", "c"});
  const std::vector<std::int64_t> counts{6, 2, 0};
  Names notes;
  EXPECT_TRUE(label_weights(config, labels, counts, notes).empty());
  EXPECT_EQ(notes,
            (Names{"warning: no training example has the label 'c'", "training labels: a 6, b 2, c 0"}));
  config.balance = true;
  // count of all examples / (count of the label · number of labels): 8 / 18 and 8 / 6
  EXPECT_EQ(
      label_weights(config, labels, counts, notes),
      (std::vector<float>{static_cast<float>(8.0 / 6.0 / 3.0), static_cast<float>(8.0 / 2.0 / 3.0), 0.0f}));
  config.weights = {1.0, 0.5, 2.0};
  EXPECT_EQ(label_weights(config, labels, counts, notes), (std::vector<float>{1.0f, 0.5f, 2.0f}));
  config.weights = {1.0, 0.5};
  EXPECT_REGARD_ERROR(label_weights(config, labels, counts, notes), ErrorKind::usage, "found 2 weights");
}

}  // namespace
}  // namespace regard::train
