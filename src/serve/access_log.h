// The access log contains one line per request: a JSON object without the texts of the request and response.
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace regard::serve {

struct AccessEntry {
  std::string client, method, path, model;
  int status = 0;  // HTTP status; 499 means that the client closed the connection first
  std::uint64_t bytes = 0;
  std::uint64_t prompt_tokens = 0, completion_tokens = 0;
  double seconds = 0.0;
};

// Thread-safe writer of log lines. A line that cannot be written completely is lost. If a part of it was
// written, for example because the disk is full, the next entry still begins on a new line.
class AccessLog {
 public:
  // Append to `file`. "-" means standard error; an empty name disables the log. Throws io.
  explicit AccessLog(const std::string& file);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void write(const AccessEntry& entry);
  void reopen();  // reopen the file after it was renamed (log rotation)

 private:
  std::string file_;
  std::mutex guard_;
  std::FILE* stream_ = nullptr;  // unbuffered, so that the number of written bytes is known
  bool cut_ = false;             // true if the last line in the file is incomplete
};

}  // namespace regard::serve
