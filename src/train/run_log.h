// log.jsonl: one JSON object a line, each with its "step" and "time" (UTC, ISO 8601). The first line, and the
// first of each resumed part, holds "run": {"version", "isa", "threads", "settings": checksum of run.toml,
// "started", "resumed"}, and "changes": {KEY: [before, after]} where settings changed. Lines of steps have
// "trained_seconds", since training began; lines of validations "validation_seconds", what one took.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/json.h"

namespace regard::train {

// The time of day: "2026-01-31T23:59:59Z".
std::string utc_now();

class RunLog {
 public:
  // What a resumed run writes again is dropped: lines of steps after `last_step` and of the final average; a
  // torn last line too.
  // Throws io.
  RunLog(const std::filesystem::path& path, std::int64_t last_step);
  void write(Json line);  // adds the time; throws io

 private:
  AppendedFile file_;
};

}  // namespace regard::train
