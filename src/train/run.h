// A complete training run: tokenizer, data, model, steps, validations, checkpoints and log.
//
// RUN/run.toml             the resolved configuration: keys that have an effect, absolute paths
// RUN/log.jsonl            one JSON object per line (run_log.h)
// RUN/tokenizer.json       and source_tokenizer.json if there are two vocabularies
// RUN/checkpoints/STEP/    a Hugging Face folder (model.safetensors, config.json, generation_config.json and
//                          the tokenizers), with optimizer.safetensors and state.json for resuming
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/thread_pool.h"
#include "distributed/ranks.h"
#include "train/listener.h"
#include "train/run_config.h"

namespace regard::train {

struct RunResult {
  std::int64_t steps = 0;
  bool stopped = false;         // true if the listener stopped the run
  double best = 0;              // the best value of config.best_metric(); NaN if there was no validation
  std::int64_t best_step = -1;  // step of the best checkpoint; −1 if there was no validation
  std::filesystem::path folder;
};

class Run;
struct TrainingContext;

// A run that is executed step by step, with the same arguments and errors as run_training(). With several
// ranks, all functions are collective.
class TrainingRun {
 public:
  // `pool`, `listener` and `ranks` must outlive the object.
  TrainingRun(const RunConfig& config, ThreadPool& pool, Listener& listener, bool resume,
              distributed::Ranks& ranks = distributed::Ranks::one());
  // Does not write a checkpoint. After an exception, no other function may be called.
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // Perform one step, and the validation and the checkpoint if they are due. Returns false if the run has
  // ended: at a limit (after the last validation), or by a stop request of the listener (after a checkpoint).
  bool advance();
  RunResult result() const;  // return the result so far

 private:
  void open_new(ThreadPool& pool, Listener& listener, bool resume);
  void open_old(ThreadPool& pool, Listener& listener);
  void read_cache_only();
  distributed::Ranks& ranks_;
  std::unique_ptr<RunConfig> config_;
  std::unique_ptr<TrainingContext> context_;
  std::unique_ptr<Run> run_;
};

// Train until the first limit of the run, early stopping, or a stop request of the listener. With `resume`,
// continue from the latest checkpoint of config.output.folder, or start a new run if there is none. On the
// same instruction set, a resumed run gives the same bits as an uninterrupted run. Throws usage if the folder
// is not empty and `resume` is false, or if another process writes to the folder. Throws usage if the
// configuration changes a key that a resumed run cannot change. Throws bad_file if the data has changed.
// Throws numeric if training diverged; the message names the step and the last checkpoint.
//
// `ranks` are the processes that train together, with the same settings and data. The result is bit-identical
// for any number of ranks. Only rank 0 writes the run folder; to resume, the other ranks must be able to read
// it. Throws usage if the micro-batches of a step cannot be divided evenly among the ranks, or if settings,
// data, weights or instruction sets differ. Throws io if no message from another rank arrives in time; no
// checkpoint is written in this case.
RunResult run_training(const RunConfig& config, ThreadPool& pool, Listener& listener, bool resume,
                       distributed::Ranks& ranks = distributed::Ranks::one());

// Return a report of the run without training: resolved configuration, data, parameters, memory, first
// batches. Does not write any file.
std::string dry_run(const RunConfig& config, ThreadPool& pool);

}  // namespace regard::train
