// log.jsonl: one JSON object a line, each with its "step".
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "base/json.h"

namespace regard::train {

class RunLog {
 public:
  // What a resumed run writes again is dropped: lines of steps after `last_step` and of the final average; a
  // torn last line too.
  // Throws io.
  RunLog(const std::filesystem::path& path, std::int64_t last_step);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void write(const Json& line);  // throws io

 private:
  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
};

}  // namespace regard::train
