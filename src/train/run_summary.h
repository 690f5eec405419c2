// Summary of a run folder: task, model family, progress, best metric, and size on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::train {

enum class RunProgress {
  running,   // a process writes to the folder
  finished,  // all steps are done, or early stopping ended the run
  stopped,   // the run is incomplete and can be resumed
  empty,     // the run has no checkpoint yet
  damaged,   // run.toml or the state of the newest checkpoint cannot be read
};
std::string_view name_of(RunProgress progress);

struct RunSummary {
  std::filesystem::path folder;
  RunProgress progress = RunProgress::empty;
  // if `progress` is running: id of the process that writes to the folder, or 0 if unknown
  long process = 0;
  std::string problem;         // if `progress` is damaged, the reason
  std::string task, family;    // values of the keys `task` and `model.family` in run.toml
  std::int64_t step = 0;       // number of training steps of the newest checkpoint
  std::int64_t max_steps = 0;  // value of training.max_steps in run.toml
  std::string metric;          // metric that selects the best checkpoint
  std::optional<double> best;  // best value of the metric so far
  std::int64_t best_step = 0;  // step of the best value of the metric
  double seconds = 0;          // training time so far, in seconds
  std::int64_t checkpoints = 0;
  std::uint64_t bytes = 0;  // total size of all files in the folder
};

// Summarise a run folder without validating its checkpoints; if the folder is damaged, set progress to
// RunProgress::damaged. Throws usage if `folder` is not a run folder.
RunSummary summarize_run(const std::filesystem::path& folder);

// Return all run folders at or below `folder`, sorted by path. The search does not enter run folders,
// symbolic links, or folders more than 8 levels down. Throws io if `folder` cannot be read.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& folder);

}  // namespace regard::train
