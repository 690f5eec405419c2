#include "train/run_summary.h"

#include <algorithm>

#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "formats/checkpoint.h"
#include "regard/error.h"
#include "train/run_config.h"
#include "train/run_resume.h"
#include "train/run_state.h"

namespace regard::train {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 8;

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t bytes = 0;
  // errors are ignored, because an entry can disappear while a run removes old checkpoints
  std::error_code ignored;
  for (auto entry =
           fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, ignored);
       !ignored && entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
    std::error_code unknown;
    if (!entry->is_regular_file(unknown) || entry->is_symlink(unknown)) continue;
    const std::uint64_t size = entry->file_size(unknown);
    if (!unknown) bytes += size;
  }
  return bytes;
}

void read_settings(const RunConfig& config, RunSummary& summary) {
  summary.task = config.task;
  summary.family = config.model.family;
  summary.max_steps = config.training.max_steps;
  summary.metric = config.best_metric();
}

void read_state(const formats::RunFolder& folder, const RunConfig& config, RunSummary& summary) {
  const std::vector<std::int64_t> steps = folder.steps();
  summary.checkpoints = std::ssize(steps);
  if (steps.empty()) return;
  const fs::path file = folder.checkpoint_folder(steps.back()) / kStateFile;
  const RunState state = RunState::from_json(read_json(file.string()), file.string());
  // The checkpoint of the final average has the number of the last step + 1.
  summary.step = state.average_of != 0 ? state.average_of : state.step;
  summary.seconds = state.seconds;
  summary.best = state.best, summary.best_step = state.best_step;
  summary.progress =
      state.average_of != 0 || limit_of(state, config) ? RunProgress::finished : RunProgress::stopped;
}

void search(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  if (formats::RunFolder::is_run_folder(folder)) {
    found.push_back(folder);
    return;
  }
  if (depth == kDeepest) return;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code unknown;
    if (entry->is_directory(unknown) && !entry->is_symlink(unknown)) search(entry->path(), depth + 1, found);
  }
  if (error && depth == 0) throw io_error(folder, "cannot read the folder", error.value());
}

}  // namespace

std::string_view name_of(RunProgress progress) {
  constexpr std::string_view kNames[] = {"running", "finished", "stopped", "empty", "damaged"};
  return kNames[static_cast<std::size_t>(progress)];
}

RunSummary summarize_run(const fs::path& path) {
  const formats::RunFolder folder = formats::RunFolder::open(path);
  RunSummary summary;
  summary.folder = path;
  summary.bytes = bytes_below(path);
  try {
    const RunConfig config = read_run((path / "run.toml").string());
    read_settings(config, summary);
    read_state(folder, config, summary);
  } catch (const Error& error) {
    summary.progress = RunProgress::damaged;
    summary.problem = error.what();
  }
  if (const auto writer = writer_of(path)) {
    summary.process = *writer;
    summary.progress = RunProgress::running;
  }
  return summary;
}

std::vector<fs::path> find_runs(const fs::path& folder) {
  std::vector<fs::path> found;
  search(folder, 0, found);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace regard::train
