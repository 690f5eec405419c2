#include "train/training_context.h"

#include "infer/loaded_model.h"
#include "models/weights.h"
#include "train/word_embedding.h"

namespace regard::train {
namespace {

namespace fs = std::filesystem;

ScheduleKind schedule_kind(const std::string& name) {
  if (name == "inverse-sqrt") return ScheduleKind::inverse_sqrt;
  if (name == "cosine") return ScheduleKind::cosine;
  if (name == "linear") return ScheduleKind::linear;
  return ScheduleKind::constant;
}

TrainerOptions trainer_options(const RunConfig& config) {
  const TrainingConfig& training = config.training;
  TrainerOptions options;
  options.adamw = {.beta1 = training.betas[0],
                   .beta2 = training.betas[1],
                   .epsilon = training.epsilon,
                   .weight_decay = training.weight_decay,
                   .decay_all = training.decay == "all"};
  options.schedule = {.kind = schedule_kind(training.schedule),
                      .peak = training.learning_rate,
                      .floor = training.min_learning_rate,
                      .warmup = training.warmup_steps,
                      .max_steps = training.max_steps};
  options.accumulate = training.accumulate;
  options.clip_norm = training.clip_norm;
  options.label_smoothing = training.label_smoothing;
  options.seed = static_cast<std::uint64_t>(config.seed);
  return options;
}

std::unique_ptr<Network> obtain_model(const RunConfig& config, const Tokenizers& tokenizers,
                                      const fs::path& checkpoint) {
  std::unique_ptr<Network> model;
  if (!config.model.from.empty()) {
    model =
        load_model(formats::ModelFolder::open(checkpoint.empty() ? fs::path(config.model.from) : checkpoint));
    const ModelKind wanted = config.translation() ? ModelKind::encoder_decoder : ModelKind::decoder;
    if (model->kind() != wanted)
      throw usage_error("the model in " + config.model.from + " does not fit the task '" + config.task + "'");
    if (model->vocabulary() < tokenizers.target->vocabulary_size())
      throw usage_error("the tokenizer has more tokens than the model in " + config.model.from)
          .found(std::to_string(tokenizers.target->vocabulary_size()))
          .expected("at most " + std::to_string(model->vocabulary()))
          .remedy("Set 'tokenizer.file' to the model's own tokenizer.json");
    if (config.translation() && model->source_vocabulary() < tokenizers.source->vocabulary_size())
      throw usage_error("the source's tokenizer has more tokens than the model in " + config.model.from)
          .found(std::to_string(tokenizers.source->vocabulary_size()))
          .expected("at most " + std::to_string(model->source_vocabulary()))
          .remedy("Use the tokenizers that the model was trained with");
    return model;
  }
  model = make_model(model_config(config, tokenizers), "[model]");
  initialise(*model, static_cast<std::uint64_t>(config.seed));
  return model;
}

}  // namespace

Json model_config(const RunConfig& config, const Tokenizers& tokenizers) {
  TransformerConfig model = config.model.transformer;
  const SpecialIds special = special_ids(*tokenizers.target);
  model.kind = config.translation() ? "encoder-decoder" : "decoder";
  model.vocabulary = tokenizers.target->vocabulary_size();
  model.source_vocabulary = tokenizers.joint() ? 0 : tokenizers.source->vocabulary_size();
  if (model.positions == "learned" && model.max_positions == 0)
    model.max_positions = config.translation() ? config.data.max_length : config.training.context;
  model.pad_token_id = special.pad;
  model.bos_token_id = special.begin;
  model.eos_token_id = special.end;
  model.decoder_start_token_id = config.translation() ? special.decoder_start : -1;
  model.check();
  return model.to_json();
}

Json generation_config(const RunConfig& config, const SpecialIds& special) {
  Json json = Json::object();
  const auto id = [&json](const char* key, std::int32_t value) {
    if (value >= 0) json[key] = value;
  };
  id("pad_token_id", special.pad);
  id("bos_token_id", special.begin);
  id("eos_token_id", special.end);
  if (!config.translation()) return json;
  id("decoder_start_token_id", special.decoder_start);
  json["num_beams"] = config.validation.beam;
  json["length_penalty"] = config.validation.length_penalty;
  json[infer::kNormalizeWhitespace] = config.data.normalize_whitespace;
  return json;
}

TrainingContext::TrainingContext(const RunConfig& config, Tokenizers made, ThreadPool& pool,
                                 const fs::path& checkpoint)
    : tokenizers(std::move(made)),
      special(special_ids(*tokenizers.target)),
      model(obtain_model(config, tokenizers, checkpoint)) {
  check_positions(config, model->max_positions(),
                  config.model.from.empty() ? "'model.max_positions'" : config.model.from);
  data = load_dataset(config, tokenizers, pool);
  if (!config.model.vectors.empty() && checkpoint.empty())
    data.notes.push_back(set_word_embedding(*model, config, *tokenizers.source, pool));
  const auto seed = static_cast<std::uint64_t>(config.seed);
  if (config.translation()) {
    if (special.decoder_start < 0)
      throw usage_error("the tokenizer has no token for a translation to start with")
          .expected("<s>, <pad> or </s>");
    batches = pair_batches(data.train,
                           {.batch_tokens = config.training.batch_tokens,
                            .by_length = config.training.bucketing == "length",
                            .seed = seed},
                           special.decoder_start);
  } else {
    batches = window_batches(data.train_stream, {.batch_size = config.training.batch_size,
                                                 .context = config.training.context,
                                                 .random = config.training.windows == "random",
                                                 .seed = seed});
  }
  TrainerOptions options = trainer_options(config);
  if (config.model.freeze_vectors) options.frozen = embedding_of_source(*model);
  trainer = std::make_unique<Trainer>(*model, pool, *batches, options);
}

}  // namespace regard::train
