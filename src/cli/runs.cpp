// regard runs: list training runs with their state. regard prune: remove old checkpoints of runs.
#include <algorithm>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "base/json_text.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "formats/checkpoint.h"
#include "regard/error.h"
#include "train/run_summary.h"

namespace regard::cli {
namespace {

std::string size_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, unit == 0 || value >= 99.95 ? 0 : 1, kUnits[unit]);
}

Json as_json(const train::RunSummary& run) {
  Json json{{"run", run.folder.string()},
            {"state", train::name_of(run.progress)},
            {"task", run.task},
            {"family", run.family},
            {"step", run.step},
            {"max_steps", run.max_steps},
            {"metric", run.metric},
            {"best", run.best ? Json(*run.best) : Json()},
            {"best_step", run.best_step},
            {"seconds", run.seconds},
            {"checkpoints", run.checkpoints},
            {"bytes", run.bytes}};
  if (run.process != 0) json["process"] = run.process;
  if (!run.problem.empty()) json["problem"] = run.problem;
  return json;
}

using TableRow = std::vector<std::string>;

TableRow row_of(const train::RunSummary& run) {
  if (run.progress == train::RunProgress::damaged)
    return {run.folder.string(), "", "damaged", "", "", size_text(run.bytes), run.problem};
  return {run.folder.string(),
          run.task,
          std::string(train::name_of(run.progress)),
          fmt::format("{}/{}", run.step, run.max_steps),
          run.best ? fmt::format("{} {:.4g} at {}", run.metric, *run.best, run.best_step) : "",
          size_text(run.bytes),
          ""};
}

void print_table(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const TableRow& row : rows)
    for (std::size_t column = 0; column + 1 < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  for (const TableRow& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column)
      line += fmt::format("{:<{}}  ", row[column], widths[column]);
    line.erase(line.find_last_not_of(' ') + 1);
    print_result("{}\n", line);
  }
}

void list_runs(const std::string& folder, const Globals& globals) {
  std::vector<TableRow> rows{{"run", "task", "state", "step", "best", "size", ""}};
  for (const std::filesystem::path& path : train::find_runs(folder)) {
    const train::RunSummary run = train::summarize_run(path);
    if (globals.json)
      print_result("{}\n", json_text(as_json(run)));
    else
      rows.push_back(row_of(run));
  }
  if (rows.size() > 1) print_table(rows);
  if (rows.size() == 1 && !globals.json && !globals.quiet) print_message("no runs in {}\n", folder);
}

struct PruneOptions {
  std::vector<std::string> runs;
  int keep = 1;
};

void prune(const PruneOptions& options, const Globals& globals) {
  for (const std::string& path : options.runs) {
    const std::uint64_t before = train::summarize_run(path).bytes;
    const auto folder = formats::RunFolder::resume(path);
    const std::vector<std::int64_t> steps = folder.steps();
    // Keep the checkpoint of the last step: a run whose latest checkpoint is a final average is resumed from
    // it.
    const std::int64_t last[] = {train::summarize_run(path).step};
    folder.prune(options.keep, last);
    const std::vector<std::int64_t> kept = folder.steps();
    const std::uint64_t after = train::summarize_run(path).bytes;
    const std::uint64_t freed = before - std::min(before, after);
    if (globals.json)
      print_result("{}\n",
                   json_text(Json{{"run", path}, {"before", steps}, {"kept", kept}, {"freed", freed}}));
    else
      print_result("{}: removed {} of {}, {}; kept {}\n", path, steps.size() - kept.size(),
                   counted(steps.size(), "checkpoint"), size_text(freed), fmt::join(kept, ", "));
  }
}

}  // namespace

void add_runs(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("runs", "List training runs: state, step, best metric, size");
  verb->footer(
      "States: running (a process writes to the folder), finished, stopped (train --resume continues it),\n"
      "empty (no checkpoint yet), damaged.");
  add_globals(*verb, globals, {.threads = false});
  auto folder = std::make_shared<std::string>("runs");
  verb->add_option("FOLDER", *folder, "Folder to search for runs, with its subfolders")
      ->capture_default_str()
      ->check(not_empty());
  verb->callback([folder, &globals] { list_runs(*folder, globals); });
}

void add_prune(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("prune", "Remove old checkpoints of training runs");
  verb->footer(
      "The latest and the best checkpoint are always kept, and the one of the last step if the latest is an\n"
      "average. A run that is being trained is refused.");
  add_globals(*verb, globals, {.threads = false});
  auto options = std::make_shared<PruneOptions>();
  verb->add_option("RUN", options->runs, "Run folders")->required();
  add_checked_option(*verb, "--keep", options->keep, "Number of latest checkpoints of each run to keep",
                     positive());
  verb->callback([options, &globals] { prune(*options, globals); });
}

}  // namespace regard::cli
