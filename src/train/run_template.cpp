#include "train/run_template.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "train/task.h"
#include "train/unused_keys.h"

namespace regard::train {
namespace {

// Settings of every template. Their values are suitable for a small corpus on a small machine.
const std::vector<std::string>& common_settings() {
  static const std::vector<std::string> settings{
      "tokenizer.vocab_size=4000",   "model.hidden_size=128",     "model.heads=4",
      "model.feed_forward_size=512", "model.dropout=0.1",         "training.learning_rate=1e-3",
      "training.schedule=linear",    "training.warmup_steps=100", "training.max_steps=2000",
      "validation.every_steps=200",  "validation.patience=5"};
  return settings;
}

std::string key_of(const std::string& setting) {
  return setting.substr(0, setting.find('='));
}

}  // namespace

std::string run_template(const std::string& task) {
  std::vector<std::string> names;
  for (const TaskTraits* traits : task_registry()) names.emplace_back(traits->name);
  if (std::find(names.begin(), names.end(), task) == names.end()) {
    const std::string_view near = nearest(task, names);
    Error error =
        usage_error("unknown task '" + task + "'").expected(fmt::format("one of {}", fmt::join(names, ", ")));
    if (!near.empty()) error.remedy(fmt::format("Did you mean '{}'?", near));
    throw error;
  }
  const TaskTraits& traits = task_traits(task);
  RunConfig config;
  std::vector<Field> fields = run_fields(config);
  std::vector<std::string> settings = common_settings();
  settings.insert(settings.end(), traits.example.begin(), traits.example.end());
  settings.push_back("task=" + task);
  settings.push_back("output.folder=runs/" + task);
  std::vector<std::string> keys;
  for (const std::string& setting : settings) {
    set_field(fields, setting);
    keys.push_back(key_of(setting));
  }
  std::erase_if(fields, [&](const Field& field) {
    return std::find(keys.begin(), keys.end(), field.name()) == keys.end() ||
           !why_unused(config, field).empty();
  });
  return fmt::format(
             "# regard train RUN.toml: {} ({}).\n# 'regard train --help-config' lists every key; 'regard "
             "train RUN.toml --dry-run' shows the first batches.\n",
             task, traits.meaning) +
         fields_as_help(fields, [](const Field&) { return std::string(); });
}

}  // namespace regard::train
