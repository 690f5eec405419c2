// A run from beginning to end: tokenizer, data, model, steps, validations, checkpoints, log.
//
// RUN/run.toml             the run as resolved: the keys that have an effect, paths absolute
// RUN/log.jsonl            one object a line (run_log.h)
// RUN/tokenizer.json       and source_tokenizer.json where there are two vocabularies
// RUN/checkpoints/STEP/    model.safetensors, config.json, generation_config.json, the tokenizers (a Hugging
//                          Face folder), optimizer.safetensors and state.json (what resuming needs)
#pragma once

#include <filesystem>
#include <string>

#include "base/thread_pool.h"
#include "train/listener.h"
#include "train/run_config.h"

namespace regard::train {

struct RunResult {
  std::int64_t steps = 0;
  bool stopped = false;         // the listener asked for it
  double best = 0;              // the best value of config.best_metric(); NaN without a validation
  std::int64_t best_step = -1;  // whose it is; −1 without a validation
  std::filesystem::path folder;
};

// Trains until the first limit of the run, an early stop or the listener's. resume: goes on from the latest
// checkpoint of config.output.folder, to the bits of a run never interrupted (same instruction set). Throws
// usage: the folder holds something and resume is false, another process writes to it, or the run differs
// from the one to resume in what cannot change; numeric: training diverged, naming the step and the last good
// checkpoint.
RunResult run_training(const RunConfig& config, ThreadPool& pool, Listener& listener, bool resume);

// What the run would be: resolved configuration, data, parameters, memory, first batches. Writes nothing.
std::string dry_run(const RunConfig& config, ThreadPool& pool);

}  // namespace regard::train
