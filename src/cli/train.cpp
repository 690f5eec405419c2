// regard train: trains or fine-tunes what a run file describes.
#include <fmt/format.h>

#include "cli/output.h"
#include "cli/training_screen.h"
#include "cli/verb.h"
#include "train/run.h"

namespace regard::cli {
namespace {

struct TrainOptions {
  std::string file;
  std::vector<std::string> overrides;
  bool resume = false, dry = false, help_config = false;
};

void run_train(const TrainOptions& options, Globals& globals, bool seed_given) {
  if (options.help_config) {
    print_result("{}", train::help_config());
    return;
  }
  if (options.file.empty())
    throw usage_error("a run file is needed").remedy("See 'regard train --help-config' for its keys");
  std::vector<std::string> overrides = options.overrides;
  if (seed_given) overrides.push_back(fmt::format("seed={}", globals.seed));
  const train::RunConfig config = train::read_run(options.file, overrides);
  if (options.dry) {
    print_result("{}", train::dry_run(config, globals.pool()));
    return;
  }
  catch_signals(AtSignal::go_on_writing);
  TrainingScreen screen(globals.quiet);
  const train::RunResult result = train::run_training(config, globals.pool(), screen, options.resume);
  screen.clear();
  if (globals.json) {
    const Json line{{"folder", result.folder.string()},
                    {"steps", result.steps},
                    {"stopped", result.stopped},
                    {config.best_metric(), result.best}};
    print_result("{}\n", line.dump());
  } else if (!globals.quiet && result.stopped) {
    print_message("stopped at step {}; go on with --resume\n", result.steps);
  }
}

}  // namespace

void add_train(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("train", "Train or fine-tune what a run file describes");
  const auto options = std::make_shared<TrainOptions>();
  verb->add_option("RUN", options->file, "The run file (TOML)");
  verb->add_option("--set", options->overrides, "Override a key: section.key=value")->allow_extra_args(false);
  verb->add_flag("--resume", options->resume,
                 "Go on from the latest checkpoint; where there is no run yet, begin one");
  verb->add_flag("--dry-run", options->dry, "Print what would be done; write nothing");
  verb->add_flag("--help-config", options->help_config, "Print every key of a run file");
  add_globals(*verb, globals);
  verb->callback([verb, options, &globals] { run_train(*options, globals, verb->count("--seed") > 0); });
}

}  // namespace regard::cli
