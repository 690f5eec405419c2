// Classification of texts, pairs of texts and images: labels with scores, as in transformers' pipelines.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/pass.h"
#include "tasks/reader.h"

namespace regard::tasks {

enum class Scores {
  softmax,  // exactly one label applies
  sigmoid,  // several labels may apply: each has an independent probability
  plain     // regression: the score is the logit itself
};

struct ClassifyOptions {
  Options reading;
  std::optional<Scores> scores;  // kind of scores; default: as config.json specifies (scores_of())
  // names of the labels; default: as in config.json (labels_of())
  std::optional<std::vector<std::string>> labels;
};

struct LabelScore {
  std::string label;
  float score = 0.0f;
};

// Return the names in config.json's id2label. Default: LABEL_0, LABEL_1, …. Throws bad_file unless id2label
// has one name for each of the ids 0 to count − 1.
std::vector<std::string> labels_of(const Json& config, std::int64_t count, const std::string& file);
// Return the kind of scores that "problem_type" specifies, as in transformers. Default, also for
// single_label_classification: sigmoid for one label, softmax for several. Throws bad_file for an unknown
// problem_type.
Scores scores_of(const Json& config, std::int64_t count, const std::string& file);

// Convert the logits of one input to scores. Input and output may be the same memory. Throws numeric for
// values that are not finite.
void scores_of_logits(Scores how, std::span<const float> logits, std::span<float> scores);

class Classifier {
 public:
  // `loaded`, `pool` and the probe must outlive the classifier. Throws usage if the model is not a classifier
  // of sequences or images, bad_file if the number of labels is wrong.
  Classifier(const infer::LoadedModel& loaded, ThreadPool& pool, const ClassifyOptions& options = {});

  const std::vector<std::string>& labels() const { return labels_; }
  bool labels_exclude_each_other() const { return scores_ == Scores::softmax; }

  Input read(std::string_view text) const { return reader_->read(text); }
  Input read(std::string_view first, std::string_view second) const { return reader_->read(first, second); }

  // Return scores [inputs, labels]. Throws invalid_input for a text without tokens, numeric if logits are not
  // finite.
  Tensor scores(std::span<const Input> inputs);

  // Return the best `count` labels of one row, best first. Labels with equal scores keep the model's order.
  std::vector<LabelScore> best(std::span<const float> scores, std::size_t count) const;

 private:
  void score(const Tensor& logits, float* scores) const;

  Pass pass_;
  std::optional<Reader> reader_;  // reader of texts; empty if the model does not read text
  std::vector<std::string> labels_;
  Scores scores_;
};

}  // namespace regard::tasks
