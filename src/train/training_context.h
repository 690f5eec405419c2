// TrainingContext: the tokenizers, model, data and trainer of a run, built from its configuration. Used by
// training and the dry run.
#pragma once

#include <filesystem>
#include <memory>

#include "train/dataset.h"
#include "train/trainer.h"

namespace regard::train {

struct TrainingContext {
  Tokenizers tokenizers;
  SpecialIds special;              // of the target tokenizer
  std::unique_ptr<Network> model;  // initialised, or loaded from model.from
  Dataset data;
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<Trainer> trainer;

  // `checkpoint`: folder of the checkpoint to resume from; empty for a new run. A resumed run reads neither
  // model.from nor model.vectors; the caller must load the weights of the checkpoint. Throws usage if the
  // model has fewer positions than the data needs or does not match task or tokenizers; and as
  // load_dataset(), load_model() and set_word_embedding() do.
  TrainingContext(const RunConfig& config, Tokenizers made, ThreadPool& pool,
                  const std::filesystem::path& checkpoint = {});
};

// config.json of the model: [model] of the run, with vocabulary sizes and special ids from the tokenizers.
Json model_config(const RunConfig& config, const Tokenizers& tokenizers);

// generation_config.json: the special ids and, for translation, the decoding options of validation.
Json generation_config(const RunConfig& config, const SpecialIds& special);

}  // namespace regard::train
