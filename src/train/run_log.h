// Writer of log.jsonl: one JSON object per line, each with "step" and "time" (UTC, ISO 8601). The first line
// of a run, and the first line after each resume, has "run": {"version", "isa", "threads", "ranks",
// "settings": hash of run.toml, "started", "resumed"}, and "changes": {KEY: [before, after]} if settings
// changed. A line of a step has "trained_seconds", the training time since the start of the run. A line of a
// validation has "validation_seconds", the duration of the validation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "train/event_file.h"

namespace regard::train {

class RunLog {
 public:
  // Open the log for appending. Remove incomplete and invalid lines, and the lines that a resumed run writes
  // again: all lines of steps after `last_step`, and the line of the final average. If `validated` is false,
  // the run validates `last_step` again, so the line of this validation is also removed. `events` is a folder
  // for a TensorBoard event file with the same numbers; empty means none. Throws io.
  RunLog(const std::filesystem::path& path, std::int64_t last_step, bool validated,
         const std::filesystem::path& events = {});
  void write(Json line);  // adds the member "time"; throws io

 private:
  AppendedFile file_;
  std::optional<EventFile> events_;
};

}  // namespace regard::train
