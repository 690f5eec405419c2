#include "train/encoder_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "models/copy_weights.h"
#include "models/sequence_config.h"
#include "models/weights.h"
#include "train/new_families.h"

namespace regard::train {
namespace {

// Return the prefix of a family's class names in transformers, such as "Bert"; "" for an unsupported family.
std::string class_prefix(const std::string& family) {
  constexpr std::pair<const char*, const char*> kPrefixes[] = {{"audio-spectrogram-transformer", "AST"},
                                                               {"bert", "Bert"},
                                                               {"deit", "DeiT"},
                                                               {"distilbert", "DistilBert"},
                                                               {"electra", "Electra"},
                                                               {"mpnet", "MPNet"},
                                                               {"roberta", "Roberta"},
                                                               {"vit", "ViT"},
                                                               {"xlm-roberta", "XLMRoberta"}};
  for (const auto& [name, prefix] : kPrefixes)
    if (family == name) return prefix;
  return sequence_class(family);
}

// Return the name of a family's class in transformers, such as "BertForMaskedLM"; "" for an unsupported
// family.
std::string class_name(const std::string& family, const std::string& suffix) {
  if (family == "wav2vec2" && suffix == "ForAudioClassification") return "Wav2Vec2ForSequenceClassification";
  const std::string prefix = class_prefix(family);
  return prefix.empty() ? "" : prefix + suffix;
}

void set_head(Json& config, const std::string& architecture, const HeadNeed& need) {
  config["architectures"] = {architecture};
  if (need.labels.empty()) return;
  config.erase("num_labels");
  Json names = Json::object(), ids = Json::object();
  for (std::size_t i = 0; i < need.labels.size(); ++i) {
    names[std::to_string(i)] = need.labels[i];
    ids[need.labels[i]] = i;
  }
  config["id2label"] = names;
  config["label2id"] = ids;
  config.erase("problem_type");
  if (!need.problem_type.empty()) config["problem_type"] = need.problem_type;
}

bool has_class(const Json& config, const std::string& name) {
  const auto classes = config.find("architectures");
  return classes != config.end() && classes->is_array() && !classes->empty() && classes->front() == name;
}

}  // namespace

TaskTraits encoder_traits(TaskTraits traits) {
  traits.keys.insert(traits.keys.end(),
                     {"data.max_length", "data.weights", "model.layers", "training.batch_size"});
  traits.families = {"bert", "electra", "roberta"};
  // Insert the shared settings before the task's own settings, because later settings override earlier ones.
  traits.example.insert(
      traits.example.begin(),
      {"data.max_length=128", "tokenizer.type=wordpiece", "tokenizer.lower_case=true", "model.family=bert",
       "model.layers=3", "model.activation=gelu", "training.batch_size=32"});
  return traits;
}

TaskTraits label_traits(TaskTraits traits) {
  traits.keys.insert(traits.keys.end(), {"labels.names", "labels.until", "labels.weights", "labels.balance"});
  traits.labels = "labels";
  traits = encoder_traits(std::move(traits));
  traits.families.insert(traits.families.end(), {"mlp", "cnn", "rnn", "lstm", "gru"});
  return traits;
}

std::vector<std::string> label_names(const Json& config) {
  const auto names = config.find("id2label");
  if (names == config.end() || !names->is_object()) return {};
  std::vector<std::string> labels;
  bool own = false;
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto name = names->find(std::to_string(i));
    if (name == names->end() || !name->is_string()) return {};
    labels.push_back(name->get<std::string>());
    own = own || labels.back() != "LABEL_" + std::to_string(i);
  }
  return own ? labels : std::vector<std::string>{};
}

void EncoderTask::check() const {
  const TrainingConfig& training = config_.training;
  // maximum number of tokens in a batch, because offsets are 32-bit integers
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (training.batch_size > kMost / config_.data.max_length)
    throw usage_error("a batch of 'training.batch_size' texts of 'data.max_length' tokens is too large")
        .found(fmt::format("{} × {} tokens", training.batch_size, config_.data.max_length))
        .expected(fmt::format("at most {} tokens", kMost))
        .remedy("Reduce one of the two keys");
}

Tokenizers EncoderTask::train_tokenizers(ThreadPool& pool) const {
  const auto trained = train_tokenizer(config_, training_texts(), Marks::bert, pool);
  return {trained, trained};
}

Json EncoderTask::model_config(const Tokenizers& tokenizers) const {
  const bool has_text = tokenizers.target != nullptr;
  const SpecialIds special = has_text ? special_ids(*tokenizers.target) : SpecialIds();
  const std::int64_t vocabulary = has_text ? tokenizers.target->vocabulary_size() : 0;
  const HeadNeed need = head();
  if (is_sequence_family(config_.model.family)) {
    Json config = sequence_model_json(config_, vocabulary, special);
    set_head(config, sequence_class("regard-" + config_.model.family) + need.suffix, need);
    return config;
  }
  const NewFamily& family = *find_new_family(config_.model.family);
  Json config = family.config({config_.model.transformer, vocabulary, special, config_.data.max_length,
                               &config_.images, &config_.sound});
  set_head(config, class_name(family.name, need.suffix), need);
  return config;
}

std::unique_ptr<Network> EncoderTask::load_model(const formats::ModelFolder& folder) {
  const auto family = require<std::string>(folder.config, "model_type", folder.config_file);
  const HeadNeed need = head();
  const std::string name = class_name(family, need.suffix);
  if (name.empty())
    throw unfit_model(config_, "an encoder with a head for the task").found("model_type \"" + family + "\"");
  Json config = folder.config;
  set_head(config, name, need);
  std::unique_ptr<Network> model = make_model(config, folder.config_file);
  if (has_class(folder.config, name)) {
    const std::vector<std::string> names = label_names(folder.config);
    const std::unique_ptr<Network> own = make_model(folder.config, folder.config_file);
    if (own->labels() == model->labels() && (names.empty() || names == need.labels)) {
      load_weights(*model, folder.weights());
      return model;
    }
  }
  const std::unique_ptr<Network> base = models::load_model(folder);
  initialise(*model, static_cast<std::uint64_t>(config_.seed));
  // A new head with labels is not initialised from the folder's head, because the labels of the two heads
  // differ even if their shapes are equal.
  const std::vector<std::string> made = copy_weights(*base, *model, need.labels.empty() ? "" : "classifier.");
  notes_.push_back(
      fmt::format("newly initialised weights (not in {}): {}", folder.path.string(), fmt::join(made, ", ")));
  return model;
}

void EncoderTask::check_model(Network& model, const Tokenizers&) const {
  if (model.output() != head().output) throw unfit_model(config_, "an encoder with a head for the task");
}

std::unique_ptr<BatchSource> EncoderTask::batches() const {
  return example_batches(
      training_examples(), config_.training.batch_size, static_cast<std::uint64_t>(config_.seed),
      [this](Batch& batch, std::size_t example, std::uint64_t epoch, std::uint64_t index) {
        append(batch, example, epoch, index);
      },
      data::weighted_sources(sources_.ends(), config_.data.weights));
}

Var EncoderTask::head_output(Network& model, Tape& tape, const Batch& batch) {
  const InputBatch inputs = batch.target_batch();
  return model.head(tape, model.encode(tape, inputs), inputs);
}

PredictionPass::PredictionPass(Network& model, const PassResources& resources)
    : stop_(resources.stop), tape_(resources.pool, resources.arena) {
  model.prepare_for_inference(resources.pool);
}

}  // namespace regard::train
