// Keys of a run file: the task, [validation], [output] and [distributed].
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "infer/stoppable_search.h"
#include "train/run_field_parts.h"
#include "train/task.h"

namespace regard::train {
namespace {

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TaskTraits* traits : task_registry()) names.emplace_back(traits->name);
  return names;
}

// Return the help text of the key `task`: "Training task: translation (translate a text), …".
std::string task_help() {
  std::string text = "Training task: ";
  for (const TaskTraits* traits : task_registry())
    text += fmt::format("{}{} ({})", text.ends_with(": ") ? "" : ", ", traits->name, traits->meaning);
  return text + ".";
}

// Return the metrics of all tasks, without duplicates.
std::vector<std::string> metric_names() {
  std::vector<std::string> names{"loss"};
  for (const TaskTraits* traits : task_registry())
    for (const MetricKind& metric : traits->metrics)
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
      "Metric that selects the best checkpoint; auto: the first of these that `metrics` computes: ";
  for (const TaskTraits* traits : task_registry()) {
    text += fmt::format("{}{}:", text.ends_with("computes: ") ? "" : "; ", traits->name);
    for (const MetricKind& metric : traits->metrics) text += fmt::format(" {}", metric.name);
  }
  return text + ".";
}

}  // namespace

void SectionFields::append(const char* key, FieldTarget target, std::string meaning, Field field) const {
  field.section = section_, field.key = key, field.target = target, field.meaning = std::move(meaning);
  list_.push_back(std::move(field));
}

void add_task(std::vector<Field>& list, std::string& task) {
  list.push_back({.key = "task", .target = &task, .meaning = task_help(), .choices = task_names()});
}

void mark_tasks(std::vector<Field>& list) {
  static const auto tasks_of_keys = [] {
    std::unordered_map<std::string, std::vector<std::string>> tasks;
    for (const TaskTraits* traits : task_registry())
      for (const std::string& key : traits->keys) tasks[key].emplace_back(traits->name);
    return tasks;
  }();
  for (Field& field : list)
    if (const auto found = tasks_of_keys.find(field.name()); found != tasks_of_keys.end())
      field.tasks = found->second;
}

void add_validation(std::vector<Field>& list, ValidationConfig& c) {
  const SectionFields add(list, "validation");
  add("every_steps", c.every_steps,
      "Number of steps between validations. The last step is always validated; 0 validates only the last "
      "step.",
      {.unit = "steps", .low = 0, .high = 1e9, .may_change = true});
  add("metrics", c.metrics, "Metrics to compute at each validation.",
      {.choices = metric_names(), .may_change = true});
  add("best", c.best, best_help(), {.choices = best_choices(), .may_change = true});
  add("patience", c.patience,
      "Stop after this many consecutive validations without improvement; 0 disables this.",
      {.unit = "validations", .low = 0, .high = 1e9, .may_change = true});
  add("beam", c.beam, "Beam width of the search in validations.",
      {.unit = "hypotheses", .low = 1, .high = static_cast<double>(infer::kWidestBeam), .may_change = true});
  add("length_penalty", c.length_penalty,
      "Exponent of the length penalty: the score of a hypothesis is divided by length^length_penalty.",
      {.low = 0, .high = 10, .may_change = true});
  add("max_sentences", c.max_sentences,
      "Number of validation sentences to translate, starting with the first; 0 translates all.",
      {.unit = "pairs", .low = 0, .high = 1e9, .may_change = true});
  add("lower_case", c.lower_case, "Convert texts to lower case before BLEU and chrF are computed.");
  add("samples", c.samples, "Number of translations or continuations printed at each validation.",
      {.unit = "texts", .low = 0, .high = 1000, .may_change = true});
}

void add_output(std::vector<Field>& list, OutputConfig& c) {
  const SectionFields add(list, "output");
  add("folder", c.folder, "Path of the run folder, relative to the working directory.", {.may_change = true});
  add("checkpoint_every_steps", c.checkpoint_every_steps,
      "Number of steps between additional checkpoints; 0 disables them. A checkpoint is always written at "
      "each validation and when the run is stopped.",
      {.unit = "steps", .low = 0, .high = 1e9, .may_change = true});
  add("keep", c.keep,
      "Number of latest checkpoints to keep. The best checkpoint and the checkpoints that average_last "
      "averages are kept too.",
      {.unit = "checkpoints", .low = 1, .high = 1e9, .may_change = true});
  add("log_every_steps", c.log_every_steps, "Number of steps between lines of log.jsonl.",
      {.unit = "steps", .low = 1, .high = 1e9, .may_change = true});
  add("tensorboard", c.tensorboard,
      "Also write the numbers of log.jsonl to TensorBoard event files in FOLDER/tensorboard.",
      {.may_change = true});
}

void add_distributed(std::vector<Field>& list, DistributedConfig& c) {
  const SectionFields add(list, "distributed");
  add("timeout", c.timeout,
      "Several processes (mpirun): end the run if no message from another process arrives within this time. "
      "It must exceed the time to write a checkpoint.",
      {.unit = "seconds", .low = 1e-3, .high = 1e9, .may_change = true});
  add("shard_optimizer", c.shard_optimizer,
      "Several processes: each process stores the optimiser's state of only a part of the weights (ZeRO "
      "stage 1). This does not change the result.",
      {.may_change = true});
}

}  // namespace regard::train
