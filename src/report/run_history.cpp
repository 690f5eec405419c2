#include "report/run_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "base/file.h"
#include "base/toml.h"

namespace regard::report {
namespace {

std::string value_text(const toml::node& node) {
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  std::ostringstream text;
  if (const toml::array* array = node.as_array()) {
    text << "[";
    for (std::size_t i = 0; i < array->size(); ++i) text << (i == 0 ? "" : ", ") << value_text((*array)[i]);
    text << "]";
  } else {
    node.visit([&](const auto& value) { text << value; });
  }
  return text.str();
}

void flatten(const toml::table& table, const std::string& prefix, RunHistory& history) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const toml::table* inner = node.as_table()) {
      flatten(*inner, name + ".", history);
      continue;
    }
    history.settings.emplace_back(name, value_text(node));
  }
}

double number(const Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

void add_curves(const Json& values, const std::string& prefix, std::int64_t step, RunHistory& history) {
  for (const auto& [key, value] : values.items()) {
    if (key == "step" || key == "trained_seconds" || key == "epochs") continue;
    if (value.is_number() || value.is_null())
      history.curves[prefix + key].push_back({.step = step, .value = number(value)});
  }
}

void add_validation(const Json& line, std::int64_t step, RunHistory& history) {
  const Json& values = line["validation"];
  if (line.contains("averaged")) {
    history.average = values;
  } else {
    add_curves(values, "validation.", step, history);
  }
  if (values.is_object() && values.contains("confusion")) history.confusion = values["confusion"];
  if (line.contains("best") && line["best"] == Json(true)) history.best_step = step;
  if (line.contains("samples") && line["samples"].is_array())
    history.samples.push_back({{"step", step}, {"samples", line["samples"]}});
}

void add_line(const Json& line, RunHistory& history) {
  const auto step = line["step"].get<std::int64_t>();
  if (line.contains("run")) {
    Json start = line["run"];
    start["step"] = step;
    if (line.contains("changes")) start["changes"] = line["changes"];
    history.starts.push_back(std::move(start));
  } else if (line.contains("validation")) {
    add_validation(line, step, history);
  } else {
    add_curves(line, "", step, history);
    if (line.contains("trained_seconds"))
      history.progress.push_back({.step = step,
                                  .epochs = number(line.value("epochs", Json())),
                                  .seconds = number(line["trained_seconds"])});
  }
}

void read_log(const std::filesystem::path& path, RunHistory& history) {
  std::istringstream lines(read_regular_file(path));
  std::string text;
  for (std::int64_t number = 1; std::getline(lines, text); ++number) {
    if (lines.eof()) break;  // the last line is incomplete, because the run is still writing it
    Json line;
    try {
      line = parse_json(text, path.string());
    } catch (const Error& error) {
      throw Error(ErrorKind::bad_file, error.message(), {.file = path.string(), .line = number});
    }
    if (!line.is_object() || !line.contains("step") || !line["step"].is_number_integer() ||
        (line.contains("run") && !line["run"].is_object()))
      throw Error(ErrorKind::bad_file, "invalid line of a training log",
                  {.file = path.string(), .line = number})
          .found(describe(line))
          .expected("an object with an integer \"step\", whose \"run\", if any, is an object");
    add_line(line, history);
  }
}

}  // namespace

RunHistory read_history(const std::filesystem::path& folder) {
  const std::filesystem::path log = folder / "log.jsonl";
  if (!std::filesystem::is_regular_file(log))
    throw usage_error(folder.string() + " has no log.jsonl")
        .expected("the folder of a run of `regard train`");
  RunHistory history{.folder = folder};
  const std::filesystem::path settings = folder / "run.toml";
  if (std::filesystem::is_regular_file(settings)) flatten(read_toml(settings.string()), "", history);
  std::sort(history.settings.begin(), history.settings.end());
  read_log(log, history);
  return history;
}

}  // namespace regard::report
