#include "train/task.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "models/weights.h"
#include "train/tasks/audio_classification.h"
#include "train/tasks/captioning.h"
#include "train/tasks/classification.h"
#include "train/tasks/contrastive.h"
#include "train/tasks/embedding.h"
#include "train/tasks/image_classification.h"
#include "train/tasks/language_model.h"
#include "train/tasks/masked_language_model.h"
#include "train/tasks/question_answering.h"
#include "train/tasks/speech_recognition.h"
#include "train/tasks/token_classification.h"
#include "train/tasks/translation.h"

namespace regard::train {

std::span<const TaskTraits* const> task_registry() {
  static const std::array entries{
      &translation_traits(),          &language_model_traits(),     &classification_traits(),
      &token_classification_traits(), &question_answering_traits(), &embedding_traits(),
      &image_classification_traits(), &captioning_traits(),         &contrastive_traits(),
      &audio_classification_traits(), &speech_recognition_traits(), &masked_language_model_traits(),
  };
  return entries;
}

const TaskTraits& task_traits(const std::string& name) {
  std::vector<std::string> known;
  for (const TaskTraits* traits : task_registry()) {
    if (name == traits->name) return *traits;
    known.emplace_back(traits->name);
  }
  throw usage_error("unknown task '" + name + "'").expected(fmt::format("one of {}", fmt::join(known, ", ")));
}

std::unique_ptr<Task> make_task(const RunConfig& config) {
  return task_traits(config.task).make(config);
}

std::unique_ptr<Network> Task::load_model(const formats::ModelFolder& folder) {
  return models::load_model(folder);
}

TransformerConfig transformer_config(const RunConfig& config, const text::Tokenizer& target,
                                     const std::string& kind) {
  TransformerConfig model = config.model.transformer;
  const SpecialIds special = special_ids(target);
  model.kind = kind;
  model.vocabulary = target.vocabulary_size();
  model.source_vocabulary = 0;
  model.pad_token_id = special.pad;
  model.bos_token_id = special.begin;
  model.eos_token_id = special.end;
  model.decoder_start_token_id = -1;
  return model;
}

Error nothing_left(const RunConfig& config, const char* purpose) {
  const bool valid = std::string(purpose) == "validate" && !config.data.valid.empty();
  return file_error(valid ? config.data.valid[0] : config.data.train[0],
                    fmt::format("no data is left to {} on", purpose))
      .remedy("Check data.max_length, data.empty_lines and data.valid_fraction");
}

void set_loss(double mean, ValidationReport& report) {
  report.loss = mean;
  if (!std::isfinite(report.loss))
    throw Error(ErrorKind::numeric,
                fmt::format("training diverged: the validation loss of step {} is not finite", report.step))
        .found(fmt::format("{}", report.loss))
        .remedy("Lower 'training.learning_rate'");
}

Error unfit_model(const RunConfig& config, const std::string& expected) {
  return usage_error("the model in " + config.model.from + " cannot be used for the task '" + config.task +
                     "'")
      .expected(expected)
      .remedy("Choose another model.from or another task");
}

Json special_json(const SpecialIds& special) {
  Json json = Json::object();
  const auto id = [&json](const char* key, std::int32_t value) {
    if (value >= 0) json[key] = value;
  };
  id("pad_token_id", special.pad);
  id("bos_token_id", special.begin);
  id("eos_token_id", special.end);
  return json;
}

std::string next_token_text(const text::Tokenizer& tokenizer, const Batch& batch) {
  const auto length = static_cast<std::size_t>(batch.target.view().offsets[1]);
  return fmt::format("  input:  {}\n  labels: {}\n",
                     tokens_text(tokenizer, std::span(batch.ids).first(length)),
                     tokens_text(tokenizer, std::span(batch.labels).first(length)));
}

std::string tokens_text(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  constexpr std::size_t kShown = 24;
  std::string text;
  for (const std::int32_t id : ids.first(std::min(ids.size(), kShown)))
    text += (text.empty() ? "" : " ") + tokenizer.token_of(id);
  return ids.size() > kShown ? text + " …" : text;
}

}  // namespace regard::train
