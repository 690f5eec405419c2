// Keys of a run file: the task, [validation] and [output].
#include <fmt/format.h>

#include <algorithm>

#include "infer/stoppable_search.h"
#include "train/run_field_parts.h"
#include "train/task.h"

namespace regard::train {
namespace {

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskEntry& entry : task_registry()) names.emplace_back(entry.traits.name);
  return names;
}

// "What to learn: translation (a text to another text), …"
std::string task_help() {
  std::string text = "What to learn: ";
  for (const TaskEntry& entry : task_registry())
    text +=
        fmt::format("{}{} ({})", text.ends_with(": ") ? "" : ", ", entry.traits.name, entry.traits.meaning);
  return text + ".";
}

// The metrics of all tasks, each once.
std::vector<std::string> metric_names() {
  std::vector<std::string> names{"loss"};
  for (const TaskEntry& entry : task_registry())
    for (const MetricKind& metric : entry.traits.metrics)
      if (std::find(names.begin(), names.end(), metric.name) == names.end()) names.emplace_back(metric.name);
  return names;
}

std::vector<std::string> best_choices() {
  std::vector<std::string> names = metric_names();
  names.insert(names.begin(), "auto");
  return names;
}

std::string best_help() {
  std::string text =
      "The metric that names the best checkpoint; auto: the first of these that `metrics` computes: ";
  for (const TaskEntry& entry : task_registry()) {
    text += fmt::format("{}{}:", text.ends_with("computes: ") ? "" : "; ", entry.traits.name);
    for (const MetricKind& metric : entry.traits.metrics) text += fmt::format(" {}", metric.name);
  }
  return text + ".";
}

}  // namespace

void add_task(std::vector<Field>& list, std::string& task) {
  list.push_back({.key = "task", .target = &task, .meaning = task_help(), .choices = task_names()});
}

void mark_tasks(std::vector<Field>& list) {
  for (const TaskEntry& entry : task_registry())
    for (const std::string& key : entry.traits.keys)
      for (Field& field : list)
        if (field.name() == key) field.tasks.emplace_back(entry.traits.name);
}

void add_validation(std::vector<Field>& list, ValidationConfig& c) {
  const auto count = [&list](const char* key, std::int64_t& value, const char* unit, const char* meaning,
                             double low) {
    list.push_back({.section = "validation",
                    .key = key,
                    .target = &value,
                    .unit = unit,
                    .meaning = meaning,
                    .low = low,
                    .high = 1e9});
  };
  count("every_steps", c.every_steps, "steps",
        "How often to validate; there is one validation at the end too. 0: only then.", 0);
  list.back().may_change = true;
  list.push_back({.section = "validation",
                  .key = "metrics",
                  .target = &c.metrics,
                  .meaning = "What to compute.",
                  .choices = metric_names(),
                  .may_change = true});
  list.push_back({.section = "validation",
                  .key = "best",
                  .target = &c.best,
                  .meaning = best_help(),
                  .choices = best_choices(),
                  .may_change = true});
  count("patience", c.patience, "validations", "Stop after so many without a better one; 0: never.", 0);
  list.back().may_change = true;
  count("beam", c.beam, "hypotheses", "Width of the beam when validation translates.", 1);
  list.back().high = static_cast<double>(infer::kWidestBeam);
  list.push_back({.section = "validation",
                  .key = "length_penalty",
                  .target = &c.length_penalty,
                  .meaning = "Scores are divided by length to this power.",
                  .low = 0,
                  .high = 10});
  count("max_sentences", c.max_sentences, "pairs", "Translate only so many, the first; 0: all.", 0);
  list.push_back({.section = "validation",
                  .key = "lower_case",
                  .target = &c.lower_case,
                  .meaning = "BLEU and chrF of lower-cased text."});
  count("samples", c.samples, "texts", "Translations or continuations shown at each validation.", 0);
  list.back().high = 1000;
  list.back().may_change = true;
}

void add_output(std::vector<Field>& list, OutputConfig& c) {
  const auto count = [&list](const char* key, std::int64_t& value, const char* unit, const char* meaning,
                             double low) {
    list.push_back({.section = "output",
                    .key = key,
                    .target = &value,
                    .unit = unit,
                    .meaning = meaning,
                    .low = low,
                    .high = 1e9,
                    .may_change = true});
  };
  list.push_back({.section = "output",
                  .key = "folder",
                  .target = &c.folder,
                  .meaning = "The run's folder, relative to the working directory.",
                  .may_change = true});
  count("checkpoint_every_steps", c.checkpoint_every_steps, "steps",
        "Checkpoints between validations; 0: at validations only.", 0);
  count("keep", c.keep, "checkpoints",
        "How many of the latest stay; the best, and those that average_last needs, stay too.", 1);
  count("log_every_steps", c.log_every_steps, "steps", "How often log.jsonl gets a line.", 1);
  list.push_back(
      {.section = "output",
       .key = "tensorboard",
       .target = &c.tensorboard,
       .meaning = "Also write the numbers of log.jsonl as TensorBoard event files to FOLDER/tensorboard.",
       .may_change = true});
}

}  // namespace regard::train
