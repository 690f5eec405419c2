// Workshop: all that a run works with, built from its configuration. Shared by training and the dry run.
#pragma once

#include <filesystem>
#include <memory>

#include "train/dataset.h"
#include "train/trainer.h"

namespace regard::train {

struct Workshop {
  Tokenizers tokenizers;
  SpecialIds special;              // of the target side
  std::unique_ptr<Network> model;  // initialised, or with the weights of model.from
  Dataset data;
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<Trainer> trainer;

  // checkpoint: of the run that goes on, which then needs neither model.from nor model.vectors; its weights
  // are still to be read. Throws usage where the model has fewer positions than the data needs.
  Workshop(const RunConfig& config, Tokenizers made, ThreadPool& pool,
           const std::filesystem::path& checkpoint = {});
};

// The model's configuration: the run's [model] with the vocabularies and ids that the tokenizers give.
Json model_config(const RunConfig& config, const Tokenizers& tokenizers);

// generation_config.json: the special ids, and how validation decodes.
Json generation_config(const RunConfig& config, const SpecialIds& special);

}  // namespace regard::train
