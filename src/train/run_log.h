// log.jsonl: one JSON object a line, each with its "step".
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"

namespace regard::train {

class RunLog {
 public:
  // What a resumed run writes again is dropped: lines of steps after `last_step` and of the final average; a
  // torn last line too.
  // Throws io.
  RunLog(const std::filesystem::path& path, std::int64_t last_step);
  void write(const Json& line);  // throws io

 private:
  AppendedFile file_;
};

}  // namespace regard::train
