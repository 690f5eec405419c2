// A complete training run: tokenizer, data, model, steps, validations, checkpoints, log.
//
// RUN/run.toml             the resolved configuration: keys that have an effect, absolute paths
// RUN/log.jsonl            one JSON object per line (run_log.h)
// RUN/tokenizer.json       and source_tokenizer.json if there are two vocabularies
// RUN/checkpoints/STEP/    model.safetensors, config.json, generation_config.json, the tokenizers (a Hugging
//                          Face folder), optimizer.safetensors and state.json (what resuming needs)
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

// A run, step by step. `pool`, `listener` and `ranks` must outlive it. Arguments and errors are as for
// run_training(). With several ranks, all functions are collective.
class TrainingRun {
 public:
  TrainingRun(const RunConfig& config, ThreadPool& pool, Listener& listener, bool resume,
              distributed::Ranks& ranks = distributed::Ranks::one());
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // Perform one step, and the validation and the checkpoint that are due after it. Returns false if the run
  // has ended: it has reached a limit and made its last validation, or the listener has stopped it and a
  // checkpoint is written. After an exception only the destructor may be called; it writes no checkpoint.
  bool advance();
  RunResult result() const;  // the result so far

 private:
  void open_new(ThreadPool& pool, Listener& listener, bool resume);
  void open_old(ThreadPool& pool, Listener& listener);
  void read_cache_only();
  distributed::Ranks& ranks_;
  std::unique_ptr<RunConfig> config_;
  std::unique_ptr<TrainingContext> context_;
  std::unique_ptr<Run> run_;
};

// Train until the first limit of the run, early stopping or a stop by the listener. With `resume`, continue
// from the latest checkpoint of config.output.folder; the result is bit-identical to an uninterrupted run on
// the same instruction set. If there is nothing to resume, start a new run. Throws usage if the folder is not
// empty and `resume` is false, another process writes to it, or the configuration changes a key that a
// resumed run cannot change; bad_file if the data has changed; numeric if training diverged, naming the step
// and the last good checkpoint.
//
// `ranks` train together; each must have the same settings and data. Rank 0 writes the run folder, the others
// write nothing, and to resume they must be able to read it. The result is bit-identical for any number of
// ranks. Throws usage if the micro-batches of a step cannot be divided evenly among them, or data, weights or
// instruction sets differ; io if another rank does not answer in time: no checkpoint is written then.
RunResult run_training(const RunConfig& config, ThreadPool& pool, Listener& listener, bool resume,
                       distributed::Ranks& ranks = distributed::Ranks::one());

// Return a report of the run without training: resolved configuration, data, parameters, memory, first
// batches. Writes nothing.
std::string dry_run(const RunConfig& config, ThreadPool& pool);

}  // namespace regard::train
