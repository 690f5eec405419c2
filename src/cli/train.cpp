// regard train: train or fine-tune a model as described by a run file.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/training_screen.h"
#include "cli/verb.h"
#include "distributed/launch.h"
#include "formats/checkpoint.h"
#include "train/run.h"
#include "train/run_template.h"
#include "train/task.h"

namespace regard::cli {
namespace {

struct TrainOptions {
  std::string file;
  std::vector<std::string> overrides;
  bool resume = false, dry = false, help_config = false;
  std::string key, new_task;
};

// Quote a path for a shell, if necessary.
std::string as_argument(const std::filesystem::path& path) {
  const std::string text = path.string();
  if (text.find_first_of(" \t\n'\"\\$`*?[](){}<>|&;#~!") == std::string::npos) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

// Print the best result, the run folder and the next command.
void show_end(const train::RunConfig& config, const train::RunResult& result, TrainingScreen& screen) {
  if (result.best_step >= 0)
    screen.print(
        fmt::format("best: step {}, {} {:.4f}", result.best_step, config.best_metric(), result.best));
  screen.print("folder: " + result.folder.string());
  const std::string folder = as_argument(result.folder);
  if (result.stopped)
    screen.print(
        fmt::format("stopped at step {}; resume with: regard train --resume {}", result.steps, folder));
  else
    screen.print(fmt::format("next: regard {} {}", train::task_traits(config.task).verb, folder));
}

// With several processes, report an error of this rank and end all others. If all ranks have the same error,
// only rank 0 reports it.
[[noreturn]] void end_ranks(distributed::Ranks& ranks, const Error& error) {
  constexpr std::chrono::seconds kFirstReports{2};
  if (!ranks.first()) std::this_thread::sleep_for(kFirstReports);
  print_message("regard: rank {} of {}: {}\n", ranks.rank(), ranks.size(), error.what());
  ranks.abort(exit_code(error.kind()));
  throw error;
}

// Set the number of threads of this rank; rank 0 prints it with the number of ranks and the binding to cores.
void set_threads(Globals& globals, const distributed::Ranks& ranks) {
  if (ranks.alone()) return;
  const distributed::HostShare share = distributed::share_host(ranks, globals.threads);
  globals.threads = share.threads;
  if (!ranks.first()) globals.quiet = true;
  if (!globals.quiet)
    print_message("{} ranks, {} of them on this host; {}\n", ranks.size(), ranks.local_size(), share.text());
}

// Train. If an io error ends the training after the run folder was created, add to the error's remedy the
// command that resumes the run.
train::RunResult train_alone(const train::RunConfig& config, Globals& globals, TrainingScreen& screen,
                             bool resume, distributed::Ranks& ranks) {
  try {
    return train::run_training(config, globals.pool(), screen, resume, ranks);
  } catch (Error& error) {
    const std::string& folder = config.output.folder;
    if (error.kind() == ErrorKind::io && error.remedy().empty() && formats::RunFolder::is_run_folder(folder))
      error.remedy("Remove the cause and resume the run: regard train --resume " + as_argument(folder));
    throw;
  }
}

train::RunResult train_together(const train::RunConfig& config, Globals& globals, TrainingScreen& screen,
                                bool resume, distributed::Ranks& ranks) {
  try {
    const train::RunResult result = train_alone(config, globals, screen, resume, ranks);
    screen.clear();
    return result;
  } catch (...) {
    if (ranks.alone()) throw;
    screen.clear();
    end_ranks(ranks, caught_error());
  }
}

void run_train(const TrainOptions& options, Globals& globals, bool seed_given) {
  if (options.help_config) {
    print_result("{}", train::help_config(options.key));
    return;
  }
  if (!options.new_task.empty()) {
    print_result("{}", train::run_template(options.new_task));
    return;
  }
  if (options.file.empty())
    throw usage_error("expected a run file, found none")
        .remedy("'regard train --new TASK' prints one; 'regard train --help-config' lists its keys");
  std::vector<std::string> overrides = options.overrides;
  if (seed_given) overrides.push_back(fmt::format("seed={}", globals.seed));
  const train::RunConfig config = train::read_run(options.file, overrides);
  if (options.dry) {
    print_result("{}", train::dry_run(config, globals.pool()));
    return;
  }
  std::signal(SIGPIPE, SIG_IGN);  // ignore SIGPIPE: a closed pipe must not end the run
  const std::unique_ptr<distributed::Ranks> ranks = distributed::join();
  set_threads(globals, *ranks);
  const bool first = ranks->first();
  TrainingScreen screen(globals.quiet);
  const train::RunResult result = train_together(config, globals, screen, options.resume, *ranks);
  if (globals.json && first) {
    const Json line{{"folder", result.folder.string()},
                    {"steps", result.steps},
                    {"stopped", result.stopped},
                    {"best_step", result.best_step},
                    {config.best_metric(), result.best}};
    print_result("{}\n", line.dump());
  }
  if (!globals.quiet) show_end(config, result, screen);
  // close the connections last: mpirun may kill the other processes as soon as one process exits with 128 +
  // signal
  ranks->close();
}

}  // namespace

void add_train(CLI::App& app, Globals& globals) {
  const auto [verb, options] = add_command<TrainOptions>(
      app, "train", "Train or fine-tune the model that a run file describes",
      "The run folder holds run.toml, log.jsonl and checkpoints. 'regard train --resume FOLDER' resumes the\n"
      "run. On SIGINT, SIGTERM or SIGHUP, train writes a checkpoint and stops. Without a terminal, a\n"
      "progress line is printed every 60 s; REGARD_PROGRESS_SECONDS sets another interval in seconds.\n"
      "'mpirun -n 4 regard train RUN' trains with four processes, on one machine or several, with the same\n"
      "result (docs/scaling.md).");
  verb->add_option("RUN", options->file, "Run file (TOML); with --resume also a run folder")
      ->check(not_empty());
  verb->add_option("--set", options->overrides,
                   "Override a key of the run file: section.key=value; repeatable")
      ->allow_extra_args(false);
  verb->add_flag("--resume", options->resume,
                 "Resume from the latest checkpoint; start a new run if there is none");
  verb->add_flag("--dry-run", options->dry,
                 "Check the configuration and data, compute one step, and write nothing")
      ->excludes("--resume");
  verb->add_option(
          "--new", options->new_task,
          "Print a commented run file for this task, such as translation or classification, and exit")
      ->check(not_empty());
  verb->add_option_function<std::string>(
          "--help-config",
          [options](const std::string& key) { options->help_config = true, options->key = key; },
          "Print every key of the run file with its meaning and default, or only KEY or a section, and exit")
      ->expected(0, 1)
      ->type_name("[KEY]");
  add_globals(*verb, globals, {.seed = true});
  verb->get_option("--seed")->description("Random seed. Default: `seed` in the run file")->default_str("");
  for (const char* name : {"--dry-run", "--new", "--help-config"}) verb->get_option("--json")->excludes(name);
  verb->callback([verb, options, &globals] { run_train(*options, globals, verb->count("--seed") > 0); });
}

}  // namespace regard::cli
