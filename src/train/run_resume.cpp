#include "train/run_resume.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/folder.h"

namespace regard::train {

std::optional<formats::Checkpoint> place_to_resume(const formats::RunFolder& folder) {
  std::optional<formats::Checkpoint> latest = folder.latest();
  if (!latest) return latest;
  const std::string file = (latest->folder / kStateFile).string();
  const RunState state = RunState::from_json(read_json(file), file);
  if (state.average_of == 0) return latest;
  formats::Checkpoint before{state.average_of, folder.checkpoint_folder(state.average_of), ""};
  formats::validate_checkpoint(before.folder);
  return before;
}

void check_steps_left(const RunConfig& config, const formats::Checkpoint& checkpoint) {
  const std::string file = (checkpoint.folder / kStateFile).string();
  const std::int64_t done = RunState::from_json(read_json(file), file).step;
  const std::int64_t limit = config.training.max_steps;
  if (limit > 0 && limit < done)
    throw usage_error("'training.max_steps' is less than the number of steps that the run has finished")
        .found(counted(limit, "step"))
        .expected(fmt::format("at least {} steps", done));
}

Resumption agree_to_resume(const RunConfig& config, const formats::RunFolder& folder) {
  const std::string file = (folder.path() / "run.toml").string();
  RunConfig saved = read_run(file);
  apply_older_rules(saved, file);
  Resumption resumption;
  std::vector<std::string> refused;
  for (RunChange& change : changes_between(saved, config)) {
    if (!change.allowed) refused.push_back(change.text());
    resumption.changes.push_back(std::move(change));
  }
  if (!refused.empty())
    throw usage_error(
        fmt::format("the run in {} cannot be resumed with different settings", folder.path().string()))
        .found(fmt::format("{}", fmt::join(refused, "; ")))
        .remedy("Resume it with its own settings ('regard train --resume " + folder.path().string() +
                "'), or use another run folder");
  resumption.other_metric = judged_by(saved) != judged_by(config);
  return resumption;
}

std::string judged_by(const RunConfig& config) {
  const ValidationConfig& how = config.validation;
  const std::string metric = config.best_metric();
  if (metric == "loss") return metric;
  return fmt::format("{}, beam {}, length_penalty {}, max_sentences {}", metric, how.beam, how.length_penalty,
                     how.max_sentences);
}

std::string effect_of(const RunChange& change, const RunConfig& config) {
  const auto is = [&](std::initializer_list<const char*> keys) {
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return change.key == key; });
  };
  const std::string& schedule = config.training.schedule;
  const bool ends = schedule != "inverse-sqrt" && schedule != "constant";
  if (is({"training.max_steps"}) && ends) return "the learning rate and the weights differ from this step on";
  if (is({"training.max_steps", "training.max_epochs", "training.max_minutes", "validation.patience"}))
    return "the run ends at another step; until then, the weights are the same";
  if (is({"training.average_last"})) return "only the average of checkpoints at the end changes";
  if (change.key.starts_with("training.")) return "the weights differ from this step on";
  if (change.key.starts_with("validation.") && !is({"validation.samples"}))
    return "the weights are the same, but another checkpoint may be selected as the best";
  return "the results are the same";
}

void drop_average(const formats::RunFolder& folder, const RunState& state) {
  const std::filesystem::path average = folder.checkpoint_folder(state.step + 1);
  const std::string file = (average / kStateFile).string();
  if (!std::filesystem::exists(file)) return;
  if (RunState::from_json(read_json(file), file).average_of != state.step) return;
  const auto target = [](std::int64_t step) {
    return std::filesystem::path("checkpoints") / std::to_string(step);
  };
  // Earlier versions removed the best checkpoint of training if the average was better. If that checkpoint is
  // missing, keep the average.
  if (state.best && !std::filesystem::exists(folder.checkpoint_folder(state.best_step))) return;
  switch_link(folder.path() / "latest", target(state.step));
  if (state.best) switch_link(folder.path() / "best", target(state.best_step));
  remove_folder(average);
}

}  // namespace regard::train
