#include "serve/access_log.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "base/json.h"
#include "base/json_text.h"
#include "regard/error.h"

namespace regard::serve {
namespace {

std::string time_stamp() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto part =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, part);
}

}  // namespace

AccessLog::AccessLog(const std::string& file) : file_(file) {
  reopen();
}

AccessLog::~AccessLog() {
  if (stream_ != nullptr && stream_ != stderr) std::fclose(stream_);
}

void AccessLog::reopen() {
  if (file_.empty()) return;
  std::FILE* next = file_ == "-" ? stderr : std::fopen(file_.c_str(), "ae");
  if (next == nullptr)
    throw Error(ErrorKind::io, std::string("cannot open the access log: ") + std::strerror(errno), {file_});
  std::setvbuf(next, nullptr, _IONBF, 0);
  const std::lock_guard lock(guard_);
  if (stream_ != nullptr && stream_ != stderr) std::fclose(stream_);
  stream_ = next, cut_ = false;
}

void AccessLog::write(const AccessEntry& entry) {
  if (file_.empty()) return;
  const Json json{{"time", time_stamp()},
                  {"client", entry.client},
                  {"method", entry.method},
                  {"path", entry.path},
                  {"status", entry.status},
                  {"bytes", entry.bytes},
                  {"seconds", entry.seconds},
                  {"model", entry.model},
                  {"prompt_tokens", entry.prompt_tokens},
                  {"completion_tokens", entry.completion_tokens}};
  std::string line = json_text(json) + "\n";
  const std::lock_guard lock(guard_);
  if (cut_) line.insert(0, "\n");
  const std::size_t written = std::fwrite(line.data(), 1, line.size(), stream_);
  if (written > 0) cut_ = written < line.size();
}

}  // namespace regard::serve
