#include "train/training_context.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/bf16.h"
#include "models/weights.h"
#include "train/new_families.h"
#include "train/rank_share.h"
#include "train/word_embedding.h"

namespace regard::train {
namespace {

namespace fs = std::filesystem;

TrainerOptions trainer_options(const RunConfig& config) {
  const TrainingConfig& training = config.training;
  TrainerOptions options;
  options.optimizer = optimizer_options(training);
  options.schedule = schedule_of(training, training.max_steps);
  options.accumulate = training.accumulate;
  options.clip_norm = training.clip_norm;
  options.clip_norm_type = clip_norm_type(training);
  options.label_smoothing = training.label_smoothing;
  options.r_drop = training.r_drop;
  options.precision = training.precision == "bf16" ? kernels::Precision::bf16 : kernels::Precision::f32;
  options.gradient_checkpointing = training.gradient_checkpointing;
  options.seed = static_cast<std::uint64_t>(config.seed);
  options.freeze = training.freeze;
  options.layer_decay = training.layer_decay;
  options.ema_decay = training.ema_decay;
  options.ema_warmup = training.ema_warmup;
  options.max_skipped_steps = training.max_skipped_steps;
  options.shard_optimizer = config.distributed.shard_optimizer;
  return options;
}

std::unique_ptr<Network> obtain_model(const RunConfig& config, Task& task, const Tokenizers& tokenizers,
                                      const fs::path& checkpoint, ThreadPool& pool) {
  if (config.model.from.empty()) {
    std::unique_ptr<Network> model = make_model(task.model_config(tokenizers), "[model]");
    initialise(*model, static_cast<std::uint64_t>(config.seed));
    const NewFamily* family = find_new_family(config.model.family);
    if (family != nullptr && family->initialise != nullptr) family->initialise(*model);
    return model;
  }
  formats::ModelFolder folder =
      formats::ModelFolder::open(checkpoint.empty() ? fs::path(config.model.from) : checkpoint);
  const fs::path adapter = std::exchange(folder.adapter, {});
  std::unique_ptr<Network> model = task.load_model(folder);
  // Merge the adapter of model.from into the model. The adapter of a resumed run remains separate.
  if (checkpoint.empty() && !adapter.empty()) Lora(*model, adapter).merge(pool);
  task.check_model(*model, tokenizers);
  if (tokenizers.target != nullptr && model->vocabulary() < tokenizers.target->vocabulary_size())
    throw usage_error("the tokenizer has more tokens than the model in " + config.model.from)
        .found(std::to_string(tokenizers.target->vocabulary_size()))
        .expected("at most " + std::to_string(model->vocabulary()))
        .remedy("Set 'tokenizer.file' to the model's own tokenizer.json");
  return model;
}

std::string adapter_note(const Lora& lora, Network& model) {
  std::int64_t trained = 0;
  for (const Parameter* parameter : lora.parameters()) trained += parameter->value().elements();
  return fmt::format("adapter: {} weights are trained; the model has {}", trained, model.parameter_count());
}

}  // namespace

TrainingContext::TrainingContext(const RunConfig& config, ThreadPool& pool, const fs::path& checkpoint,
                                 distributed::Ranks& together)
    : task(make_task(config)), ranks(together) {
  micro_batches_of_rank(config.training.accumulate, ranks.size());  // check this now, before the data is read
  if (config.training.precision == "bf16") kernels::require_bf16("'training.precision' = \"bf16\"");
  task->read();
  if (checkpoint.empty() || !task->traits().has_text)
    tokenizers = obtain_tokenizers(config, *task, pool);
  else
    tokenizers = Tokenizers::load(checkpoint);
  model = obtain_model(config, *task, tokenizers, checkpoint, pool);
  check_positions(config, model->max_positions(),
                  config.model.from.empty() ? "'model.max_positions'" : config.model.from);
  task->load(tokenizers, pool);
  if (!config.model.vectors.empty() && checkpoint.empty())
    task->notes().push_back(set_word_embedding(*model, config, *tokenizers.source, pool));
  batches = task->batches();
  TrainerOptions options = trainer_options(config);
  options.ranks = &ranks;
  if (config.model.freeze_vectors) options.freeze.push_back(embedding_of_source(*model));
  for (const std::string& name : task->untrained(*model)) options.freeze.push_back(name);
  if (config.lora.used()) {
    LoraConfig adapter = lora_config(config.lora, config.model.from);
    const std::vector<std::string> heads = peft_head_modules(*model);
    adapter.modules_to_save.insert(adapter.modules_to_save.end(), heads.begin(), heads.end());
    lora.emplace(*model, adapter, static_cast<std::uint64_t>(config.seed));
    options.only = lora->parameters();
    task->notes().push_back(adapter_note(*lora, *model));
  }
  trainer = std::make_unique<Trainer>(*model, pool, *batches, *task, options);
}

}  // namespace regard::train
