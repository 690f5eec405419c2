#include "train/training_context.h"

#include <fmt/format.h>

#include <utility>

#include "base/hash.h"
#include "kernels/bf16.h"
#include "models/weights.h"
#include "train/new_families.h"
#include "train/rank_share.h"
#include "train/sharded_batches.h"
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
  return fmt::format("adapter: {} parameters are trained; the model has {} parameters", trained,
                     model.parameter_count());
}

}  // namespace

TrainingContext::TrainingContext(const RunConfig& config, ThreadPool& pool, const fs::path& checkpoint,
                                 distributed::Ranks& together)
    : ranks(together) {
  // Check the number of micro-batches before the data is read.
  micro_batches_of_rank(config.training.accumulate, ranks.size());
  if (config.training.precision == "bf16") kernels::require_bf16("'training.precision' = \"bf16\"");
  make_tasks(config);
  task->resume_from(checkpoint);
  for (const auto& more : more_tasks) more->resume_from(checkpoint);
  task->read();
  if (checkpoint.empty() || !task->traits().has_text)
    tokenizers = obtain_tokenizers(config, *task, pool);
  else
    tokenizers = Tokenizers::load(checkpoint);
  model = obtain_model(config, *task, tokenizers, checkpoint, pool);
  check_positions(config, model->max_positions(),
                  config.model.from.empty() ? "'model.max_positions'" : config.model.from);
  load_data(config, pool);
  if (!config.model.vectors.empty() && checkpoint.empty())
    task->notes().push_back(set_word_embedding(*model, config, *tokenizers.source, pool));
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

// Create the task of the run or, with data.sharded, one task for each micro-batch of this rank.
void TrainingContext::make_tasks(const RunConfig& config) {
  if (!config.data.sharded) {
    task = make_task(config);
    return;
  }
  const std::int64_t own = config.training.accumulate / ranks.size();
  for (std::int64_t i = ranks.rank() * own; i < (ranks.rank() + 1) * own; ++i) {
    shard_configs.push_back(std::make_unique<RunConfig>(config_of_micro_batch(config, i)));
    std::unique_ptr<Task> made = make_task(*shard_configs.back());
    if (task == nullptr)
      task = std::move(made);
    else
      more_tasks.push_back(std::move(made));
  }
}

void TrainingContext::load_data(const RunConfig& config, ThreadPool& pool) {
  if (config.data.sharded) return load_shards(config, pool);
  task->load(tokenizers, pool);
  batches = task->batches();
  fingerprint = task->fingerprint();
}

// Load this rank's shards. Training data is drawn with a different seed for each micro-batch of a step;
// validations use the seed of the run.
void TrainingContext::load_shards(const RunConfig& config, ThreadPool& pool) {
  std::vector<std::unique_ptr<BatchSource>> sources;
  std::vector<std::uint64_t> own;
  std::vector<std::string> notes;
  const std::int64_t first = ranks.rank() * std::ssize(shard_configs);
  for (std::size_t i = 0; i < shard_configs.size(); ++i) {
    Task& part = i == 0 ? *task : *more_tasks[i - 1];
    if (i > 0) part.read();
    part.load(tokenizers, pool);
    const std::int64_t index = first + static_cast<std::int64_t>(i);
    shard_configs[i]->seed = config.seed + index;
    sources.push_back(part.batches());
    shard_configs[i]->seed = config.seed;
    own.push_back(part.fingerprint());
    for (const std::string& note : part.notes())
      notes.push_back(fmt::format("micro-batch {}: {}", index, note));
  }
  std::vector<std::uint64_t> all(own.size() * static_cast<std::size_t>(ranks.size()));
  ranks.gather_bytes(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  fingerprint = xxh3(std::as_bytes(std::span(all)));
  batches = std::make_unique<ShardedBatches>(std::move(sources), config.training.accumulate, ranks);
  notes.insert(notes.begin(),
               fmt::format("{} shards for {} micro-batches of a step; this process reads those of {}",
                           shards_of(config).size(), config.training.accumulate, shard_configs.size()));
  task->notes() = std::move(notes);
}

}  // namespace regard::train
