#include "inspect/sweep_state.h"

#include <cerrno>

#include "base/file.h"
#include "base/json.h"
#include "base/json_text.h"
#include "base/line_reader.h"
#include "regard/error.h"

namespace regard::inspect {

namespace {

namespace fs = std::filesystem;

// Throw a usage error if `found`, the settings in the file, differ from `settings`.
void require_same(const Json& found, const SweepSettings& settings, const Place& place) {
  const auto error = [&place] {
    return usage_error("the file contains the state of another sweep")
        .at(place)
        .remedy("Remove the file, or name another file");
  };
  if (!found.is_object()) throw error();
  for (const auto& [name, value] : settings) {
    const auto at = found.find(name);
    const std::string other = at != found.end() && at->is_string() ? at->get<std::string>() : "";
    const auto shown = [&name = name](const std::string& text) {
      return name + (text.empty() ? ": none" : " " + text);
    };
    if (other != value) throw error().found(shown(other)).expected(shown(value));
  }
}

}  // namespace

void SweepState::open(const fs::path& path, const SweepSettings& settings) {
  if (!path_.empty()) return;
  path_ = path;
  if (path.empty()) return;
  Json values = Json::object();
  for (const auto& [name, value] : settings) values[name] = value;
  const std::string first = json_text(Json{{"sweep", values}});
  std::error_code error;
  if (fs::exists(path, error)) {
    if (!fs::is_regular_file(path, error))
      throw usage_error("the state of a sweep is not a regular file")
          .at({path.string(), -1, -1})
          .expected("a new file or the state of this sweep");
    read(settings, first);
  }
  file_.open(path, std::ios::app);
  if (file_ && fs::file_size(path) == 0) file_ << first << '\n' << std::flush;
  check();
}

const double* SweepState::value_of(const std::string& added, const std::string& part) const {
  const auto found = finished_.find({added, part});
  return found == finished_.end() ? nullptr : &found->second;
}

void SweepState::add(const std::string& added, const std::string& part, double value) {
  if (path_.empty()) return;
  Json line{{part_, part}, {value_, value}};
  if (!added.empty()) line["added"] = added;
  file_ << line.dump() << '\n' << std::flush;
  check();
}

void SweepState::check() const {
  if (!file_) throw io_error(path_, "cannot write the state of the sweep", errno == 0 ? EIO : errno);
}

// Read the stored results. `first` is the expected first line. A file that contains only the beginning of
// this line is accepted.
void SweepState::read(const SweepSettings& settings, const std::string& first) {
  // An incomplete last line may end within a character; parse_json() checks the other lines.
  LineReader reader(path_, BadUtf8::keep);
  std::string line;
  bool same = false, partial = false;
  std::uintmax_t whole = 0;  // number of bytes in the complete lines of the file
  while (reader.next(line)) {
    // the last line is incomplete, because a sweep was interrupted while writing it
    if (partial = reader.line_end().empty(); partial) {
      same = same || (whole == 0 && first.starts_with(line));
      break;
    }
    const Json json = parse_json(line, path_.string(), {.first_byte = static_cast<std::int64_t>(whole)});
    whole += line.size() + reader.line_end().size();
    if (json.is_object() && json.contains("sweep")) {
      require_same(json["sweep"], settings, {path_.string(), reader.line_number(), -1});
      same = true;
    }
    if (!same) break;
    if (!json.contains(part_) || !json.contains(value_) || !json[part_].is_string() ||
        !json[value_].is_number())
      continue;
    const bool has_added = json.contains("added") && json["added"].is_string();
    finished_[{has_added ? json["added"].get<std::string>() : "", json[part_].get<std::string>()}] =
        json[value_].get<double>();
  }
  if (!same && fs::file_size(path_) > 0)
    throw usage_error("the file does not contain the state of a sweep")
        .at({path_.string(), -1, -1})
        .remedy("Remove the file, or name another file");
  if (partial) fs::resize_file(path_, whole);
}

}  // namespace regard::inspect
