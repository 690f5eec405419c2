#include "train/run_log.h"

#include <sstream>

#include "base/json_text.h"
#include "base/wall_clock.h"

namespace regard::train {
namespace {

std::string lines_up_to(const std::filesystem::path& path, std::int64_t last_step, bool validated) {
  std::istringstream lines(read_file(path));
  std::string kept, line;
  while (std::getline(lines, line) && !lines.eof()) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) continue;
    const auto step = json["step"].get<std::int64_t>();
    if (step > last_step || json.contains("averaged")) continue;
    if (step == last_step && !validated && json.contains("validation")) continue;
    kept += line + "\n";
  }
  return kept;
}

const std::filesystem::path& begun(const std::filesystem::path& path, std::int64_t last_step,
                                   bool validated) {
  if (std::filesystem::exists(path)) write_file_atomically(path, lines_up_to(path, last_step, validated));
  return path;
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& path, std::int64_t last_step, bool validated,
               const std::filesystem::path& events)
    : file_(begun(path, last_step, validated)) {
  if (!events.empty()) events_.emplace(events, last_step + 1);
}

void RunLog::write(Json line) {
  line["time"] = utc_time();
  if (events_) events_->write(line);
  file_.write(json_text(line) + "\n");
}

}  // namespace regard::train
