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

// A point of a curve. `value` is NaN if the log has null.
struct Point {
  std::int64_t step = 0;
  double value = 0;
};

// Number of epochs and elapsed seconds at a training step. The report can use either as the horizontal axis
// instead of the step number.
struct Progress {
  std::int64_t step = 0;
  double epochs = 0, seconds = 0;
};

struct RunHistory {
  std::filesystem::path folder = {};
  std::vector<std::pair<std::string, std::string>> settings =
      {};  // settings of run.toml, sorted by key: "section.key" and the value as TOML text
  // Curves by name: "loss", "learning_rate", … from training lines; "validation.loss", "validation.bleu", …
  // from validation lines. Each curve is ordered by step.
  std::map<std::string, std::vector<Point>> curves = {};
  std::vector<Progress> progress = {};  // one entry per training line of the log, ordered by step
  // "run" objects of the log, one for each start of the run, with "changes" if settings changed
  std::vector<Json> starts = {};
  std::vector<Json> samples = {};  // {"step": …, "samples": […]} of every validation that has samples
  // {"labels": […], "counts": [[…]]} of the last validation that has a confusion matrix; otherwise null
  Json confusion = {};
  std::int64_t best_step = -1;  // step of the last validation that is marked as best; −1 if there is none
  Json average = {};            // validation results of the averaged checkpoints; null if there are none
};

// Read a run folder. An incomplete last line of log.jsonl is ignored, because the run may still be writing
// it. Throws usage if there is no log.jsonl, and bad_file if run.toml is invalid or a line of log.jsonl is
// not an object with an integer "step".
RunHistory read_history(const std::filesystem::path& folder);

}  // namespace regard::report
