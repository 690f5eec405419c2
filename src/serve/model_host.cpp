#include "serve/model_host.h"

#include <algorithm>
#include <iterator>

#include "base/json.h"
#include "models/dual_encoder.h"
#include "regard/error.h"
#include "serve/http_error.h"
#include "tasks/fill.h"
#include "text/chat_template.h"

namespace regard::serve {
namespace {

bool encodes_texts(const Network& model) {
  const Output output = model.output();
  return output == Output::none || output == Output::pooled || output == Output::token_flags;
}

// Return the text of a member of tokenizer_config.json, or "" if there is none.
std::string tokenizer_setting(const std::filesystem::path& folder, const char* key) {
  const std::filesystem::path file = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(file)) return {};
  const Json json = read_json(file.string());
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool reads_text(const Network& model) {
  return model.input_spec().kind == InputKind::tokens;
}

bool reads_sound(const Network& model) {
  return model.input_spec().kind == InputKind::features;
}

bool reads_pictures(const Network& model) {
  return model.input_spec().kind == InputKind::pixels;
}

bool transcribes(const Network& model) {
  return reads_sound(model) && (model.kind() == ModelKind::encoder_decoder || model.output() == Output::ctc);
}

tasks::EmbeddingFolder open_folder(const std::filesystem::path& path, WeightMode mode) {
  formats::ModelFolder files = formats::ModelFolder::open(path);
  const InputKind reads = make_model(files.config)->input_spec().kind;
  if (reads == InputKind::tokens) return tasks::EmbeddingFolder::open(path, {}, mode);
  tasks::EmbeddingFolder folder;
  folder.modules.model = path;
  folder.loaded = infer::LoadedModel::open(std::move(files), {.weight_mode = mode, .reads = reads});
  return folder;
}

// Compute the outputs in groups of inputs. The request can be cancelled between groups.
template <class Work>
std::vector<ModelHost::Vector> in_parts(const ModelHost::Inputs& inputs, const Waiting& waiting,
                                        const Work& work) {
  constexpr std::size_t kAtOnce = 32;
  std::vector<ModelHost::Vector> outputs;
  for (std::size_t first = 0; first < inputs.size(); first += kAtOnce) {
    waiting.require();
    const std::size_t count = std::min(kAtOnce, inputs.size() - first);
    const auto begin = inputs.begin() + static_cast<std::ptrdiff_t>(first);
    for (ModelHost::Vector& one : work({begin, begin + static_cast<std::ptrdiff_t>(count)}))
      outputs.push_back(std::move(one));
  }
  return outputs;
}

std::vector<ModelHost::Vector> rows_of(const Tensor& matrix) {
  std::vector<ModelHost::Vector> rows;
  for (std::int64_t i = 0; i < matrix.rows(); ++i)
    rows.emplace_back(matrix.row(i), matrix.row(i) + matrix.columns());
  return rows;
}

struct AbilityNames {
  Ability ability;
  const char *key, *name;
};
constexpr AbilityNames kAbilityNames[] = {
    {Ability::generate, "generate", "generate text"},
    {Ability::chat, "chat", "answer in a conversation"},
    {Ability::translate, "translate", "translate"},
    {Ability::embed, "embed", "compute embeddings"},
    {Ability::classify, "classify", "classify texts"},
    {Ability::classify_picture, "classify_picture", "classify images"},
    {Ability::rerank, "rerank", "rank texts"},
    {Ability::tag, "tag", "classify tokens"},
    {Ability::answer, "answer", "answer questions"},
    {Ability::fill, "fill", "fill masks"},
    {Ability::attend, "attend", "show attention"},
    {Ability::attend_sound, "attend_sound", "show attention over a sound"},
    {Ability::attend_picture, "attend_picture", "show attention over an image"},
    {Ability::transcribe, "transcribe", "transcribe sounds"},
};
static_assert(std::size(kAbilityNames) == std::size(kAbilities));

const AbilityNames& ability_names(Ability ability) {
  return *std::ranges::find(kAbilityNames, ability, &AbilityNames::ability);
}

}  // namespace

const char* name_of(Ability ability) {
  return ability_names(ability).name;
}

const char* key_of(Ability ability) {
  return ability_names(ability).key;
}

void Waiting::require() const {
  if (gone && gone()) throw HttpError(503, "the client has disconnected");
  if (std::chrono::steady_clock::now() >= deadline)
    throw HttpError(504, "the request was not finished before its deadline", "timeout");
}

ModelHost::ModelHost(const ServedFolder& folder, const ServeOptions& options, ThreadPool& pool,
                     Metrics& metrics)
    : folder_(folder),
      pool_(pool),
      metrics_(metrics.model(folder.name)),
      embedding_(open_folder(folder.path, options.weights)),
      has_modules_(std::filesystem::exists(folder.path / "modules.json")),
      chat_template_(options.chat_template) {
  embedding_.loaded.model->prepare_for_inference(pool);
  tokenizer_config_ = text::read_tokenizer_config(loaded().folder.tokenizer);
  words_ = infer::TrainingWords::of_model(folder.path);
  open_tasks(options);
  open_generation(options);
  read_languages(options);
}

void ModelHost::open_tasks(const ServeOptions&) {
  if (can(Ability::embed)) {
    auto& steps = embedding_.modules.steps;
    scales_ = !steps.empty() && steps.back() == nullptr;
    if (scales_) steps.pop_back();  // embed() does this step
    embedder_ = std::make_unique<tasks::Embedder>(embedding_, pool_);
    cutting_embedder_ =
        std::make_unique<tasks::Embedder>(embedding_, pool_, tasks::EmbedOptions{.cut = true});
    embed_batches_ = std::make_unique<InputBatcher>(
        [this](const Inputs& inputs) { return vectors(*embedder_, inputs); },
        [](const tasks::Input& input) { return input.tokens(); }, kBatchTokens);
  }
  if (can(Ability::classify)) {
    classifier_ = std::make_unique<tasks::Classifier>(loaded(), pool_);
    const auto variant = [&](bool cut, std::optional<tasks::Scores> scores) {
      return std::make_unique<tasks::Classifier>(loaded(), pool_,
                                                 tasks::ClassifyOptions{{0, cut, nullptr}, scores, {}});
    };
    cutting_classifier_ = variant(true, std::nullopt);
    logit_classifier_ = variant(false, tasks::Scores::plain);
    usual_scores_ = tasks::scores_of(loaded().model->config(), loaded().model->labels(), "config.json");
    logit_batches_ = std::make_unique<InputBatcher>(
        [this](const Inputs& inputs) { return logits(*logit_classifier_, inputs); },
        [](const tasks::Input& input) { return input.tokens(); }, kBatchTokens);
  }
}

std::vector<ModelHost::Vector> ModelHost::logits(tasks::Classifier& classifier, const Inputs& inputs) {
  ++metrics_.batches, metrics_.batched += inputs.size();
  return rows_of(classifier.scores(inputs));
}

std::vector<ModelHost::Vector> ModelHost::vectors(tasks::Embedder& embedder, const Inputs& inputs) {
  ++metrics_.batches, metrics_.batched += inputs.size();
  return rows_of(embedder.embed(std::span<const tasks::Input>(inputs)));
}

void ModelHost::open_generation(const ServeOptions& options) {
  if (!can(Ability::generate)) return;
  infer::SessionLimits limits = options.sessions;
  // The batch must have at least as many rows as the beam size in the folder's options.
  limits.rows = std::max(limits.rows, loaded().options.beam);
  session_limits_ = limits;
  generator_ = std::make_unique<Generator>(*loaded().model, pool_, loaded().options, limits, metrics_);
}

void ModelHost::read_languages(const ServeOptions& options) {
  if (!can(Ability::translate)) return;
  if (const auto given = options.languages.find(name()); given != options.languages.end()) {
    languages_ = given->second;
    return;
  }
  const std::filesystem::path& folder = loaded().folder.tokenizer;
  if (const std::string source = tokenizer_setting(folder, "source_lang"); !source.empty())
    languages_.sources.push_back(source);
  // Marian's models with several target languages have a token for each, such as ">>fra<<".
  const text::Tokenizer& source = tokenizer();
  for (std::int32_t id = 0; id < source.vocabulary_size(); ++id)
    if (const std::string token = source.token_of(id); token.starts_with(">>") && token.ends_with("<<"))
      languages_.targets.push_back(token.substr(2, token.size() - 4));
  if (!languages_.targets.empty()) return;
  if (const std::string target = tokenizer_setting(folder, "target_lang"); !target.empty())
    languages_.targets.push_back(target);
}

bool ModelHost::can(Ability ability) const {
  const Network& model = *loaded().model;
  const Output output = model.output();
  if (ability == Ability::transcribe) return transcribes(model);
  if (ability == Ability::attend_sound) return reads_sound(model);
  if (ability == Ability::attend_picture) return reads_pictures(model);
  if (ability == Ability::classify_picture)
    return dual_encoder_of(*loaded().model) != nullptr ||
           (reads_pictures(model) && output == Output::sequence_classes);
  if (!reads_text(model)) return false;
  switch (ability) {
    case Ability::generate:
      return model.kind() == ModelKind::encoder_decoder ||
             (model.kind() == ModelKind::decoder && output == Output::next_token);
    case Ability::chat:
      return model.kind() == ModelKind::decoder && output == Output::next_token &&
             (tokenizer_config_.chat_template || !tokenizer_config_.named_templates.empty() ||
              !chat_template_.empty());
    case Ability::translate:
      return model.kind() == ModelKind::encoder_decoder;
    case Ability::embed:
      return model.kind() == ModelKind::encoder && (encodes_texts(model) || has_modules_);
    case Ability::classify:
      return output == Output::sequence_classes;
    case Ability::rerank:
      return output == Output::sequence_classes && model.labels() == 1;
    case Ability::tag:
      return output == Output::token_classes;
    case Ability::answer:
      return output == Output::span;
    case Ability::fill:
      return model.kind() == ModelKind::encoder && output == Output::vocabulary;
    case Ability::attend:
      return true;
    case Ability::classify_picture:
    case Ability::attend_sound:
    case Ability::attend_picture:
    case Ability::transcribe:
      break;
  }
  return false;
}

tasks::Input ModelHost::read_embedded(std::string_view text, bool cut) const {
  return (cut ? cutting_embedder_ : embedder_)->read(text);
}

std::vector<ModelHost::Vector> ModelHost::embed(Inputs inputs, bool scale, const Waiting& waiting,
                                                Probe* probe) {
  for (const tasks::Input& input : inputs)
    metrics_.prompt_tokens += static_cast<std::uint64_t>(input.tokens());
  std::vector<Vector> found;
  if (probe != nullptr) {
    tasks::Embedder edited(embedding_, pool_, {}, probe);
    found = in_parts(inputs, waiting, [&](const Inputs& part) { return vectors(edited, part); });
  } else {
    found = embed_batches_->run(std::move(inputs), waiting.client, waiting.deadline, waiting.gone);
  }
  if (scale || scales_)
    for (Vector& vector : found) tasks::scale_to_length_one(vector);
  return found;
}

std::vector<Tensor> ModelHost::states(const Inputs& inputs, const Waiting& waiting, Probe* probe) {
  tasks::Pass pass(*loaded().model, pool_, probe);
  std::vector<Tensor> all;
  for (const tasks::Input& input : inputs) {
    waiting.require();
    metrics_.prompt_tokens += static_cast<std::uint64_t>(input.tokens());
    const Tensor& hidden = pass.run({&input, 1}).hidden->value;
    Tensor copy = Tensor::empty({hidden.rows(), hidden.columns()});
    std::copy_n(hidden.f32(), hidden.elements(), copy.f32());
    all.push_back(std::move(copy));
  }
  return all;
}

tasks::Input ModelHost::read_classified(const std::string& first, const std::optional<std::string>& second,
                                        bool cut) const {
  const tasks::Classifier& reader = cut ? *cutting_classifier_ : *classifier_;
  return second ? reader.read(first, *second) : reader.read(first);
}

std::vector<ModelHost::Vector> ModelHost::classify(Inputs inputs, tasks::Scores scores,
                                                   const Waiting& waiting, Probe* probe) {
  for (const tasks::Input& input : inputs)
    metrics_.prompt_tokens += static_cast<std::uint64_t>(input.tokens());
  std::vector<Vector> rows;
  if (probe != nullptr) {
    tasks::Classifier edited(loaded(), pool_,
                             {.reading = {.probe = probe}, .scores = tasks::Scores::plain, .labels = {}});
    rows = in_parts(inputs, waiting, [&](const Inputs& part) { return logits(edited, part); });
  } else {
    rows = logit_batches_->run(std::move(inputs), waiting.client, waiting.deadline, waiting.gone);
  }
  for (Vector& row : rows) tasks::scores_of_logits(scores, row, row);
  return rows;
}

std::int64_t ModelHost::waiting() const {
  std::int64_t count = generator_ ? generator_->waiting() : 0;
  if (embed_batches_) count += static_cast<std::int64_t>(embed_batches_->waiting());
  if (logit_batches_) count += static_cast<std::int64_t>(logit_batches_->waiting());
  return count;
}

const inspect::ModelPoints& ModelHost::points() {
  std::call_once(points_found_, [this] { points_ = inspect::ModelPoints::of(*loaded().model, pool_); });
  return points_;
}

void ModelHost::check_chat_template() const {
  text::find_chat_template(tokenizer_config_, chat_template_);
}

std::string ModelHost::render_chat(const Json& messages) const {
  return text::render_chat(tokenizer_config_, text::find_chat_template(tokenizer_config_, chat_template_),
                           messages);
}

}  // namespace regard::serve
