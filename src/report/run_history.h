// History of a training run: its settings (run.toml) and the content of its log (log.jsonl,
// train/run_log.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace regard::report {

// A point of a curve. `value` may be NaN: the log has null there.
struct Point {
  std::int64_t step = 0;
  double value = 0;
};

// The position of a step on the other horizontal axes: epochs and seconds.
struct Progress {
  std::int64_t step = 0;
  double epochs = 0, seconds = 0;
};

struct RunHistory {
  std::filesystem::path folder = {};
  std::vector<std::pair<std::string, std::string>> settings =
      {};  // keys as "section.key" with their values in TOML; sorted
  // Curves by name: "loss", "learning_rate", … of training lines; "validation.loss", "validation.bleu", … of
  // validation lines. Each is ordered by step.
  std::map<std::string, std::vector<Point>> curves = {};
  std::vector<Progress> progress = {};  // positions of the training lines, ordered by step
  std::vector<Json> starts = {};        // the "run" objects of the log, with "changes" if there are any
  std::vector<Json> samples = {};  // {"step": …, "samples": […]} of every validation that has samples
  Json confusion = {};  // {"labels": […], "counts": [[…]]} of the last validation that has it; else null
  std::int64_t best_step = -1;  // step of the last validation marked as best; −1 if there is none
  Json average = {};            // "validation" of the final average of checkpoints; null if there is none
};

// Read a run folder. An incomplete last line of the log (a run that is writing it) is ignored. Throws usage
// if the folder has no log.jsonl, and bad_file with the line for a line that is not an object with an integer
// "step".
RunHistory read_history(const std::filesystem::path& folder);

}  // namespace regard::report
