#include "tasks/classify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "base/json.h"
#include "regard/error.h"
#include "tasks/best.h"
#include "tasks/probabilities.h"

namespace regard::tasks {

std::vector<std::string> labels_of(const Json& config, std::int64_t count, const std::string& file) {
  std::vector<std::string> labels(static_cast<std::size_t>(count));
  const auto names = config.find("id2label");
  if (names == config.end() || names->is_null()) {
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = "LABEL_" + std::to_string(i);
    return labels;
  }
  const auto wrong = [&](const std::string& found) {
    return file_error(file, "\"id2label\" does not match the model's labels")
        .found(found)
        .expected(fmt::format("a name for each label id from 0 to {}", count - 1));
  };
  if (!names->is_object()) throw wrong(describe(*names));
  std::vector<bool> named(labels.size(), false);
  for (const auto& [key, name] : names->items()) {
    std::size_t id = labels.size();
    if (!key.empty() && key.size() < 9 && key.find_first_not_of("0123456789") == std::string::npos)
      id = static_cast<std::size_t>(std::stoul(key));
    if (id >= labels.size() || named[id]) throw wrong("the label id \"" + key + "\"");
    labels[id] = json_as<std::string>(name, "id2label." + key, file);
    named[id] = true;
  }
  const auto missing = std::find(named.begin(), named.end(), false);
  if (missing != named.end())
    throw wrong(fmt::format("no name for the label id {}", missing - named.begin()));
  return labels;
}

Scores scores_of(const Json& config, std::int64_t count, const std::string& file) {
  const std::string type = optional_value<std::string>(config, "problem_type", file).value_or("");
  if (type == "regression") return Scores::plain;
  if (type == "multi_label_classification") return Scores::sigmoid;
  if (type.empty() || type == "single_label_classification")
    return count == 1 ? Scores::sigmoid : Scores::softmax;
  throw file_error(file, "the value of \"problem_type\" is unknown")
      .found("\"" + type + "\"")
      .expected("regression, single_label_classification or multi_label_classification");
}

Classifier::Classifier(const infer::LoadedModel& loaded, ThreadPool& pool, const ClassifyOptions& options)
    : pass_(*loaded.model, pool, options.reading.probe) {
  if (loaded.model->output() != Output::sequence_classes)
    throw usage_error("this model is not a classifier")
        .expected("an architecture for sequence or image classification");
  const Json config = loaded.model->config();
  const std::int64_t count = loaded.model->labels();
  labels_ = options.labels ? *options.labels : labels_of(config, count, "config.json");
  if (std::ssize(labels_) != count)
    throw Error(ErrorKind::bad_file, "the number of labels does not match the model")
        .found(counted(labels_.size(), "label"))
        .expected(counted(count, "label"));
  scores_ = options.scores.value_or(scores_of(config, count, "config.json"));
  if (loaded.model->input_spec().kind == InputKind::tokens) reader_.emplace(loaded, options.reading);
}

Tensor Classifier::scores(std::span<const Input> inputs) {
  for (const Input& input : inputs)
    if (input.empty())
      throw Error(ErrorKind::invalid_input, "cannot classify a text without tokens")
          .expected("a text of at least one token");
  Tensor all = Tensor::empty({std::ssize(inputs), std::ssize(labels_)});
  in_passes(inputs, [&](std::size_t first, std::size_t count) {
    score(pass_.head(pass_.run(inputs.subspan(first, count))), all.row(static_cast<std::int64_t>(first)));
  });
  return all;
}

void scores_of_logits(Scores how, std::span<const float> logits, std::span<float> scores) {
  require_finite(logits);
  if (how == Scores::softmax)
    softmax(logits, scores);
  else
    std::transform(logits.begin(), logits.end(), scores.begin(), [how](float x) {
      return how == Scores::plain ? x : static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x))));
    });
}

void Classifier::score(const Tensor& logits, float* scores) const {
  const auto count = static_cast<std::size_t>(logits.columns());
  for (std::int64_t i = 0; i < logits.rows(); ++i)
    scores_of_logits(scores_, {logits.row(i), count}, {scores + i * logits.columns(), count});
}

std::vector<LabelScore> Classifier::best(std::span<const float> scores, std::size_t count) const {
  std::vector<LabelScore> best;
  for (const std::int64_t i : best_of(scores, count)) {
    const auto at = static_cast<std::size_t>(i);
    best.push_back({labels_[at], scores[at]});
  }
  return best;
}

}  // namespace regard::tasks
