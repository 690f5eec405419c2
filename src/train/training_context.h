// TrainingContext: the task, tokenizers, model, data and trainer of a run, constructed from its
// configuration. Training and the dry run use it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "distributed/ranks.h"
#include "models/lora.h"
#include "train/task.h"
#include "train/trainer.h"

namespace regard::train {

struct TrainingContext {
  // With data.sharded, each micro-batch that this rank computes in a step has its own configuration and task.
  // `more_tasks` contains the tasks of all these micro-batches except the first, whose task is `task`.
  std::vector<std::unique_ptr<RunConfig>> shard_configs;
  std::vector<std::unique_ptr<Task>> more_tasks;
  std::unique_ptr<Task> task;  // the task, which holds the data
  Tokenizers tokenizers;
  std::unique_ptr<Network> model;  // model, initialised or loaded from model.from
  std::optional<Lora> lora;        // the adapter to train, if the run file has [lora]
  std::unique_ptr<BatchSource> batches;
  std::uint64_t fingerprint = 0;  // hash of the data; equal on all ranks
  std::unique_ptr<Trainer> trainer;
  distributed::Ranks& ranks;

  // Load the data, create or load the tokenizers and the model, and create the trainer. Every rank must call
  // this constructor. `config` and `ranks` must outlive the context.
  // - checkpoint: folder of the checkpoint from which to resume; empty for a new run. A resumed run uses the
  //   tokenizers of the checkpoint and ignores model.from and model.vectors. The caller must load the weights
  //   of the checkpoint.
  // - ranks: the processes that train together. Every rank reads all data or, with data.sharded, only its own
  //   shards.
  // Throws usage if the model has fewer positions than the data requires, or does not match the task or the
  // tokenizers. Also throws the errors of Task::load(), load_model() and set_word_embedding().
  TrainingContext(const RunConfig& config, ThreadPool& pool, const std::filesystem::path& checkpoint = {},
                  distributed::Ranks& ranks = distributed::Ranks::one());
  // A temporary configuration would not outlive the context.
  TrainingContext(RunConfig&& config, ThreadPool& pool, const std::filesystem::path& checkpoint = {},
                  distributed::Ranks& ranks = distributed::Ranks::one()) = delete;

 private:
  void make_tasks(const RunConfig& config);
  void load_data(const RunConfig& config, ThreadPool& pool);
  void load_shards(const RunConfig& config, ThreadPool& pool);
};

}  // namespace regard::train
