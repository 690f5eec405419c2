// TrainingContext: the task, tokenizers, model, data and trainer of a run, built from its configuration. Used
// by training and the dry run.
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
  std::unique_ptr<Task> task;  // the task with its data
  Tokenizers tokenizers;
  std::unique_ptr<Network> model;  // initialised, or loaded from model.from
  std::optional<Lora> lora;        // the adapter to train, if the run file has [lora]
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<Trainer> trainer;
  distributed::Ranks& ranks;

  // `checkpoint`: folder of the checkpoint to resume from; empty for a new run. A resumed run does not read
  // model.from and model.vectors, and uses the tokenizers of the checkpoint; the caller must load its
  // weights. The configuration must outlive the context. Throws usage if the model has fewer positions than
  // the data needs or does not match task or tokenizers, and the errors of Task::load(), load_model() and
  // set_word_embedding(). `ranks` are the processes that train together; every rank reads all data. They
  // must outlive the context.
  TrainingContext(const RunConfig& config, ThreadPool& pool, const std::filesystem::path& checkpoint = {},
                  distributed::Ranks& ranks = distributed::Ranks::one());
};

}  // namespace regard::train
