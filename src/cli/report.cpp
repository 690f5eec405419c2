// regard report: write the curves, samples and settings of training runs as one HTML page.

#include "report/report.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"

namespace regard::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string output;
};

// Read the run folders. If there are several, as in `regard report runs/*`, skip folders without a log.
std::vector<report::RunHistory> read_runs(const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::vector<report::RunHistory> runs;
  for (const std::string& folder : folders) {
    if (folders.size() == 1 || !fs::is_directory(folder) || fs::exists(fs::path(folder) / "log.jsonl")) {
      runs.push_back(report::read_history(folder));
    } else {
      print_warning(folder + " is omitted: it has no log.jsonl");
    }
  }
  if (runs.empty())
    throw usage_error("none of the folders has a log.jsonl").expected("folders of runs of `regard train`");
  return runs;
}

void write_report(const ReportOptions& options, Globals& globals) {
  const std::vector<report::RunHistory> runs = read_runs(options.runs);
  const Json data = report::report_data(runs);
  if (globals.json) {
    print_result("{}\n", json_text(data));
    return;
  }
  std::string path = options.output;
  if (path.empty()) {
    if (runs.size() > 1)
      throw usage_error("a report of several runs needs an output file").remedy("Add -o report.html");
    path = (runs.front().folder / "report.html").string();
  }
  write_whole_result(path, report::report_page(data), globals.quiet);
}

}  // namespace

void add_report(CLI::App& app, Globals& globals) {
  CLI::App* verb =
      app.add_subcommand("report", "Write the curves, samples and settings of training runs as an HTML page");
  add_globals(*verb, globals, {.threads = false});
  auto options = std::make_shared<ReportOptions>();
  verb->add_option("RUN", options->runs, "Run folders; several are drawn into the same charts")
      ->required()
      ->check(not_empty());
  verb->add_option("-o,--output", options->output,
                   "Output file; - is standard output. Default: RUN/report.html; required for several runs")
      ->excludes("--json");
  verb->callback([options, &globals] { write_report(*options, globals); });
}

}  // namespace regard::cli
