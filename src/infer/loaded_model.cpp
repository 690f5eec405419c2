#include "infer/loaded_model.h"

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "base/json.h"
#include "base/plain_text.h"
#include "infer/folder_options.h"
#include "infer/generation_settings.h"
#include "infer/transformers_folder.h"
#include "regard/error.h"
#include "text/tokenizer_pair.h"

namespace regard::infer {
namespace {

void check_fit(const formats::ModelFolder& folder, const text::Tokenizer& tokenizer, std::int64_t vocabulary,
               const char* side) {
  if (tokenizer.vocabulary_size() <= vocabulary) return;
  throw file_error(folder.tokenizer.string(),
                   std::string("the tokenizer has more tokens than the model's ") + side + " vocabulary")
      .found(counted(tokenizer.vocabulary_size(), "token"))
      .expected("at most " + std::to_string(vocabulary) + " tokens")
      .remedy("Use the tokenizer that the model was trained with");
}

constexpr const char* kTasks = "task_specific_params";

// Override generation_config.json with the task's parameters, as transformers' pipelines do.
void apply_task(formats::ModelFolder& folder, const std::string& task, LoadedModel& loaded) {
  const auto found = folder.config.find(kTasks);
  const Json tasks = found != folder.config.end() && found->is_object() ? *found : Json::object();
  for (const auto& [name, parameters] : tasks.items()) loaded.tasks.push_back(name);
  if (task.empty()) return;
  if (!tasks.contains(task)) {
    std::string known;
    for (const std::string& name : loaded.tasks) known += (known.empty() ? "" : ", ") + name;
    throw usage_error("the model folder does not define this task")
        .found("\"" + task + "\"")
        .expected(known.empty() ? "no task, because config.json has no task_specific_params"
                                : "one of " + known);
  }
  for (const auto& [key, value] : tasks.at(task).items()) {
    if (key == "prefix")
      loaded.prefix = json_as<std::string>(value, key, folder.config_file);
    else
      (*folder.generation_config)[key] = value;
  }
}

// Check that the end tokens are in the vocabulary, because some callers use them without a search. `stored`
// is the content of generation_config.json. If an id is outside the vocabulary, throws usage if `given` sets
// the end tokens, otherwise bad_file naming the file that sets them.
void check_end_tokens(const formats::ModelFolder& folder, const std::optional<Json>& stored,
                      const FolderSettings& given, const LoadedModel& loaded) {
  for (const std::int32_t id : loaded.options.end_tokens) {
    if (id < loaded.model->vocabulary()) continue;
    const bool by_task = !given.task.empty() && folder.config.at(kTasks).at(given.task).contains(kEndTokens);
    const bool in_config = by_task || !stored || stored->value(kEndTokens, Json()).is_null();
    const std::string file =
        in_config ? folder.config_file : (folder.path / "generation_config.json").string();
    const char* const message = "eos_token_id has an id outside the model's vocabulary";
    Error error = given.values.contains(kEndTokens) ? usage_error(message) : file_error(file, message);
    throw error.found(std::to_string(id))
        .expected("ids from 0 to " + std::to_string(loaded.model->vocabulary() - 1));
  }
}

void read_stop_strings(const formats::ModelFolder& folder, LoadedModel& loaded) {
  const GenerationSettings settings(folder, true);
  const Json* value = settings.find(kStopStrings);
  if (value == nullptr) return;
  auto texts = value->is_string()
                   ? std::vector<std::string>{value->get<std::string>()}
                   : json_as<std::vector<std::string>>(*value, kStopStrings, settings.file(kStopStrings));
  loaded.options.stop_strings = std::make_shared<StopStrings>(loaded.target, std::move(texts));
}

void load_tokenizers(const formats::ModelFolder& folder, LoadedModel& loaded) {
  namespace fs = std::filesystem;
  // Marian's folders have one vocabulary and one SentencePiece model per side.
  const bool marian = fs::exists(folder.tokenizer / "source.spm") &&
                      fs::exists(folder.tokenizer / "target.spm") &&
                      !fs::exists(folder.tokenizer / "tokenizer.json");
  if (marian) {
    loaded.target = text::Tokenizer::load(folder.tokenizer, text::Language::target);
    loaded.source = text::Tokenizer::load(folder.tokenizer);
    return;
  }
  text::TokenizerPair pair = text::load_tokenizer_pair(folder.tokenizer);
  loaded.source = std::move(pair.source), loaded.target = std::move(pair.target);
}

// Return true if the automatic limit of new tokens applies: the folder was converted from a run folder, and
// the given settings contain no limit.
bool bounds_automatically(const formats::ModelFolder& folder, const FolderSettings& given) {
  if (!folder.generation_config || given.values.contains("max_length") ||
      given.values.contains("max_new_tokens"))
    return false;
  bool automatic = false;
  GenerationSettings(folder, true).read(kAutomaticLength, automatic);
  return automatic;
}

}  // namespace

LoadedModel LoadedModel::open(const std::filesystem::path& path, const FolderSettings& settings) {
  return open(formats::ModelFolder::open(path), settings);
}

LoadedModel LoadedModel::open(formats::ModelFolder folder, const FolderSettings& settings) {
  LoadedModel loaded;
  loaded.folder = folder;
  loaded.warning = folder.warning;
  if (!settings.adapter.empty()) folder.adapter = settings.adapter;
  if (!settings.language.empty()) folder.select_language(settings.language);
  loaded.language = settings.language;
  const std::optional<Json> stored = folder.generation_config;
  complete_settings(folder);
  apply_task(folder, settings.task, loaded);
  for (const auto& [key, value] : settings.values.items()) (*folder.generation_config)[key] = value;
  loaded.options = read_search_options(folder);
  GenerationSettings(folder, true).read(kNormalizeWhitespace, loaded.normalizes_whitespace);
  if (bounds_automatically(folder, settings)) loaded.options.max_new = loaded.options.max_length = 0;
  loaded.model = load_model(folder, settings.weight_mode);
  const InputSpec& input = loaded.model->input_spec();
  if (settings.reads) input.require(*settings.reads);
  const bool writes = loaded.model->kind() != ModelKind::encoder;
  if (input.kind != InputKind::tokens && !writes) return loaded;
  if (writes) check_end_tokens(folder, stored, settings, loaded);
  load_tokenizers(folder, loaded);
  check_fit(folder, *loaded.target, loaded.model->vocabulary(), "output");
  read_stop_strings(folder, loaded);
  const bool own = is_own_model(folder);
  loaded.adds_special = !own;
  if (loaded.model->kind() != ModelKind::encoder_decoder) return loaded;
  if (input.kind == InputKind::tokens)
    check_fit(folder, *loaded.source, loaded.model->source_vocabulary(), "source");
  else
    loaded.source = nullptr;
  if (loaded.options.start_token < 0)
    throw file_error(folder.config_file, "\"decoder_start_token_id\" is missing")
        .remedy("Add this key to generation_config.json");
  // In training, `regard train` appends the end token to each source even if the tokenizer does not.
  if (own && loaded.source && !loaded.options.end_tokens.empty())
    loaded.source_end =
        loaded.source->id_of(loaded.target->token_of(loaded.options.end_tokens[0])).value_or(-1);
  return loaded;
}

std::string LoadedModel::add_tokenizers() {
  const bool reads = model->input_spec().kind == InputKind::tokens;
  if (!reads && model->kind() == ModelKind::encoder) return {};
  try {
    load_tokenizers(folder, *this);
  } catch (const Error& error) {
    source = target = nullptr;
    return error.what();
  }
  if (!reads) source = nullptr;
  return {};
}

const std::shared_ptr<const text::Tokenizer>& LoadedModel::source_tokenizer() const {
  if (source == nullptr)
    throw usage_error("the model has no tokenizer for its input").at({folder.given.string(), -1, -1});
  return source;
}

const std::shared_ptr<const text::Tokenizer>& LoadedModel::target_tokenizer() const {
  if (target == nullptr)
    throw usage_error("the model has no tokenizer for its output").at({folder.given.string(), -1, -1});
  return target;
}

ModelInput LoadedModel::read(std::string_view text, bool truncate) const {
  model->input_spec().require(InputKind::tokens);
  return within_positions(model->kind() == ModelKind::decoder ? encode_prompt(text) : encode_source(text),
                          truncate);
}

ModelInput LoadedModel::read_chat(std::string_view rendered, bool truncate) const {
  return within_positions(encode_chat(rendered), truncate);
}

ModelInput LoadedModel::within_positions(std::vector<std::int32_t> ids, bool truncate) const {
  const std::int64_t limit = model->max_positions();
  if (truncate) return cut_to_positions(std::move(ids));
  if (limit > 0 && std::ssize(ids) > limit)
    throw input_error(kTextTooLong)
        .found(counted(ids.size(), "token"))
        .expected("at most " + std::to_string(limit))
        .remedy("Split the text");
  return ids;
}

std::string LoadedModel::as_trained(std::string_view text) const {
  return normalizes_whitespace ? normalize_whitespace(text) : std::string(text);
}

std::vector<std::int32_t> LoadedModel::encode_source(std::string_view given) const {
  const text::Tokenizer& tokenizer = *source_tokenizer();
  const std::string trained = as_trained(given);
  std::string_view text = trained;
  std::vector<std::int32_t> ids;
  // As in Marian's own tokenizer, a language code is recognised only at the start of a text.
  const std::size_t code_end = text.starts_with(">>") ? text.find("<<") : text.npos;
  if (code_end != text.npos)
    if (const auto id = tokenizer.id_of(text.substr(0, code_end + 2)); id) {
      ids.push_back(*id);
      text.remove_prefix(code_end + 2);
    }
  const bool masked = model->output() == Output::vocabulary;
  const std::vector<std::int32_t> rest =
      tokenizer.encode_ids(text, {.add_special = true, .match_special = masked});
  ids.insert(ids.end(), rest.begin(), rest.end());
  if (source_end >= 0 && (ids.empty() || ids.back() != source_end)) ids.push_back(source_end);
  return ids;
}

std::vector<std::int32_t> LoadedModel::encode_prompt(std::string_view text) const {
  return target_tokenizer()->encode_ids(text, {.add_special = adds_special, .match_special = false});
}

std::vector<std::int32_t> LoadedModel::encode_chat(std::string_view rendered) const {
  return target_tokenizer()->encode_ids(rendered, {.add_special = false, .match_special = true});
}

void LoadedModel::ban(const std::vector<std::string>& words, TokenRules& rules) const {
  for (const std::string& word : words) {
    if (word.empty())
      throw usage_error("one of the bad words is an empty text").expected("at least one character");
    for (const std::string& spelling : {word, " " + word}) {
      std::vector<std::int32_t> ids =
          target->encode_ids(spelling, {.add_special = false, .match_special = false});
      std::vector<std::vector<std::int32_t>>& banned = rules.bad_words;
      if (!ids.empty() && std::find(banned.begin(), banned.end(), ids) == banned.end())
        banned.push_back(std::move(ids));
    }
  }
}

std::vector<std::int32_t> LoadedModel::cut_to_positions(std::vector<std::int32_t> ids) const {
  const std::int64_t limit = model->max_positions(), excess = std::ssize(ids) - limit;
  if (limit <= 0 || excess <= 0) return ids;
  if (model->kind() == ModelKind::decoder) {
    ids.erase(ids.begin(), ids.begin() + excess);
    return ids;
  }
  std::int64_t ending = 0;
  while (ending < limit && source->is_special(ids[ids.size() - 1 - static_cast<std::size_t>(ending)]))
    ++ending;
  ids.erase(ids.end() - ending - excess, ids.end() - ending);
  return ids;
}

std::string LoadedModel::written(const Hypothesis& hypothesis, const SearchOptions& search,
                                 std::span<const std::int32_t> prompt) const {
  text::StreamDecoder decoder(target);
  for (const std::int32_t id : prompt) decoder.push(id);
  std::string text;
  for (const std::int32_t id : hypothesis.tokens) text += decoder.push(id);
  text += decoder.finish();
  if (hypothesis.stopped) text.resize(std::min(text.size(), search.stop_strings->find(text)));
  return text;
}

std::string LoadedModel::decode(const Hypothesis& hypothesis) const {
  return target->decode(hypothesis.tokens);
}

}  // namespace regard::infer
