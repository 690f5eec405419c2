// Classification of texts, pairs of texts and images: logits to labels with scores, as transformers'
// pipelines make them.
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
  softmax,  // one label is right
  sigmoid,  // each label is right or wrong by itself
  plain     // the logits (regression)
};

struct ClassifyOptions {
  Options reading;
  std::optional<Scores> scores;                    // not given: by the folder's problem_type
  std::optional<std::vector<std::string>> labels;  // not given: the folder's id2label
};

struct LabelScore {
  std::string label;
  float score = 0.0f;
};

// The names in config.json's id2label, LABEL_0 and so on where it has none. Throws bad_file where they are
// not `count` names for ids 0 to count − 1.
std::vector<std::string> labels_of(const Json& config, std::int64_t count, const std::string& file);
// By "problem_type", else by how many labels there are, as transformers has it.
Scores scores_of(const Json& config, std::int64_t count, const std::string& file);

class Classifier {
 public:
  // All are kept by reference. Throws usage where the model classifies no whole sequences, bad_file where
  // labels do not fit it.
  Classifier(const infer::LoadedModel& loaded, ThreadPool& pool, const ClassifyOptions& options = {});

  const std::vector<std::string>& labels() const { return labels_; }
  bool labels_exclude_each_other() const { return scores_ == Scores::softmax; }

  Input read(std::string_view text) const { return reader_->read(text); }
  Input read(std::string_view first, std::string_view second) const { return reader_->read(first, second); }

  // [inputs, labels]. Throws bad_file for an input without tokens, numeric where scores are not finite.
  Tensor scores(std::span<const Input> inputs);
  // Of images [images, channels, height, width].
  Tensor scores(const Tensor& pixels);

  // The best `count` of one row, best first; equal ones in the model's order.
  std::vector<LabelScore> best(std::span<const float> scores, std::size_t count) const;

 private:
  void score(const Tensor& logits, float* scores) const;

  Pass pass_;
  std::optional<Reader> reader_;  // none where the model reads images
  std::vector<std::string> labels_;
  Scores scores_;
};

}  // namespace regard::tasks
