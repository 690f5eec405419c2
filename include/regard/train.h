// Train a model from a run file, as `regard train` does: in one call, or step by step.
//
//   regard::TrainingCallbacks callbacks;
//   callbacks.step = [](const regard::TrainingStep& step) { std::printf("%f\n", step.loss); };
//   regard::Training training("run.toml", {.overrides = {"training.max_steps=100"}}, callbacks);
//   const regard::TrainingResult result = training.run();
//   regard::Model model = regard::load(result.folder);
//
// docs/training.md describes run files; training_keys() lists their keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "regard/export.h"

namespace regard {

struct TrainingOptions {
  std::vector<std::string> overrides = {};  // settings "section.key=value", as in the option --set
  // If true, continue from the latest checkpoint of the run's folder, or start a new run if there is none.
  // The result of a resumed run is bit-identical to the result of an uninterrupted run. If false, start a new
  // run; the folder must be empty or not exist.
  bool resume = false;
};

struct TrainingStep {
  std::int64_t step = 0;
  double loss = 0.0;
  double learning_rate = 0.0;
  double gradient_norm = 0.0;  // norm of the gradient before clipping
  std::int64_t tokens = 0;     // number of target tokens, which are the labels counted in the loss
  bool skipped = false;        // true if loss or gradient is not finite; the weights did not change
  // Tokens per second, also those without a label. For an encoder–decoder, only the decoder's tokens count.
  double tokens_per_second = 0.0;
  double epochs = 0.0;
  // completed fraction of the run, 0 to 1; with several limits, the largest of their fractions
  double share = 0.0;
  double seconds = 0.0;  // seconds of training so far, including the parts before resuming
};

struct TrainingSample {
  std::string source = {};     // source text; for language models, the prompt
  std::string reference = {};  // reference text; empty if there is none
  std::string output = {};
};

struct TrainingValidation {
  std::int64_t step = 0;
  double loss = 0.0;
  // value of each metric except the loss, by the metric's name in run files
  std::map<std::string, double> metrics = {};
  bool best = false;      // true if better than all earlier validations
  bool averaged = false;  // true if the validated weights are the mean of the last checkpoints
  double seconds = 0.0;   // duration of the validation
  std::vector<TrainingSample> samples = {};
};

// Called on the thread that constructs the Training or calls step(). An exception that a callback throws
// propagates out of that call and ends the run without a checkpoint.
struct TrainingCallbacks {
  std::function<void(const TrainingStep& step)> step = {};
  std::function<void(const TrainingValidation& validation)> validation = {};
  // called with warnings, and with messages about data that was read, left out or changed
  std::function<void(std::string_view text)> note = {};
  // Called before every step and within validations. Return true to end the run with a checkpoint.
  std::function<bool()> cancelled = {};
};

struct TrainingResult {
  std::int64_t steps = 0;
  bool ended = false;  // true if the run reached one of its limits
  // true if stop() or a callback stopped the run; a checkpoint was written, so the run can be resumed
  bool cancelled = false;
  std::string metric = {};      // name of the metric that selects the best checkpoint
  double best = 0.0;            // best value of the metric; NaN if there was no validation
  std::int64_t best_step = -1;  // step with the best value of the metric; −1 if there was no validation
  std::filesystem::path folder = {};  // folder of the run; regard::load() opens its best checkpoint
};

// One training run. It keeps the number of threads (regard/threads.h) that was set when it was constructed;
// calls from several threads are serialised. Not copyable. A moved-from Training can only be assigned to or
// destroyed; every other call throws usage.
class REGARD_API Training {
 public:
  // Read the run file (`run_file` may be a run folder) and its data, build the model, and create the run's
  // folder or open it to resume. Throws bad_file or usage (with the key) for invalid settings, bad_file for
  // invalid data, and io if a file cannot be read or written. Also throws usage if another process is writing
  // to the folder, if the folder is not empty and `resume` is false, or if the settings differ in a key that
  // a resumed run cannot change.
  explicit Training(const std::filesystem::path& run_file, const TrainingOptions& options = {},
                    TrainingCallbacks callbacks = {});
  // If the run has not ended, stop it without writing a checkpoint: the steps since the last checkpoint are
  // lost.
  ~Training();
  Training(Training&&) noexcept;
  Training& operator=(Training&&) noexcept;

  // Perform one optimiser step, then the validation and the checkpoint that are due. Returns false if the run
  // has ended: it reached a limit and its last validation is complete, or its end was requested. Throws io,
  // and numeric (naming the last checkpoint) if training diverged. Throws usage if an earlier call threw an
  // exception, or if the call is made from within a callback.
  bool step();
  // Call step() until the run has ended, and return the result. Throws as step() does.
  TrainingResult run();
  TrainingResult result() const;  // the result so far

  // Request the end of the run: the next step() writes a checkpoint instead of training, and a running
  // validation is aborted. May be called at any time, also from a callback or while another thread is inside
  // step().
  void stop();

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

// Return a report of a run in English, without training or writing files: settings, data, parameters, memory,
// first batches. Throws as the constructor of Training does.
REGARD_API std::string training_plan(const std::filesystem::path& run_file,
                                     const std::vector<std::string>& overrides = {});

// Return all keys of a run file as TOML, with default, unit and meaning.
REGARD_API std::string training_keys();

}  // namespace regard
