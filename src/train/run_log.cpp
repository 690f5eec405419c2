#include "train/run_log.h"

#include <cerrno>
#include <sstream>

#include "base/file.h"

namespace regard::train {
namespace {

std::string lines_up_to(const std::filesystem::path& path, std::int64_t last_step) {
  std::istringstream lines(read_file(path));
  std::string kept, line;
  while (std::getline(lines, line) && !lines.eof()) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) continue;
    if (json["step"].get<std::int64_t>() > last_step || json.contains("averaged")) continue;
    kept += line + "\n";
  }
  return kept;
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& path, std::int64_t last_step) : path_(path) {
  if (std::filesystem::exists(path)) write_file_atomically(path, lines_up_to(path, last_step));
  file_ = std::fopen(path.c_str(), "ab");
  if (file_ == nullptr) throw io_error(path, "opening the log", errno);
}

RunLog::~RunLog() {
  std::fclose(file_);
}

void RunLog::write(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0)
    throw io_error(path_, "writing the log", errno);
}

}  // namespace regard::train
