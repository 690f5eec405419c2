#include "infer/loaded_model.h"

#include <string>

#include "base/json.h"
#include "models/transformer.h"
#include "models/weights.h"
#include "regard/error.h"

namespace regard::infer {
namespace {

constexpr const char* kSourceTokenizer = "source_tokenizer.json";

// Values of generation_config.json, or of config.json where that has no such key.
class Settings {
 public:
  explicit Settings(const formats::ModelFolder& folder) : folder_(folder) {}

  const Json* find(const char* key) const {
    if (folder_.generation_config) {
      const auto found = folder_.generation_config->find(key);
      if (found != folder_.generation_config->end() && !found->is_null()) return &*found;
    }
    const auto found = folder_.config.find(key);
    return found != folder_.config.end() && !found->is_null() ? &*found : nullptr;
  }
  template <class T>
  void read(const char* key, T& value) const {
    if (const Json* found = find(key)) value = json_as<T>(*found, key, folder_.config_file);
  }
  const std::string& file() const { return folder_.config_file; }

 private:
  const formats::ModelFolder& folder_;
};

void read_end_tokens(const Settings& settings, SearchOptions& options) {
  const Json* end = settings.find("eos_token_id");
  if (end == nullptr) return;
  if (end->is_array())
    options.end_tokens = json_as<std::vector<std::int32_t>>(*end, "eos_token_id", settings.file());
  else
    options.end_tokens = {json_as<std::int32_t>(*end, "eos_token_id", settings.file())};
  std::erase_if(options.end_tokens, [](std::int32_t id) { return id < 0; });
}

void read_early_stopping(const Settings& settings, SearchOptions& options) {
  const Json* value = settings.find("early_stopping");
  if (value == nullptr) return;
  if (value->is_string() && value->get<std::string>() == "never")
    options.early_stopping = EarlyStopping::never;
  else
    options.early_stopping =
        json_as<bool>(*value, "early_stopping", settings.file()) ? EarlyStopping::yes : EarlyStopping::no;
}

void check_fit(const formats::ModelFolder& folder, const text::Tokenizer& tokenizer, std::int64_t vocabulary,
               const char* side) {
  if (tokenizer.vocabulary_size() <= vocabulary) return;
  throw file_error(folder.tokenizer.string(),
                   std::string("the tokenizer has more tokens than the model's ") + side + " vocabulary")
      .found(std::to_string(tokenizer.vocabulary_size()))
      .expected("at most " + std::to_string(vocabulary))
      .remedy("put the tokenizer there that the model was trained with");
}

}  // namespace

SearchOptions search_options_of(const formats::ModelFolder& folder) {
  const Settings settings(folder);
  SearchOptions options;
  settings.read("bos_token_id", options.start_token);
  settings.read("decoder_start_token_id", options.start_token);
  read_end_tokens(settings, options);
  read_early_stopping(settings, options);
  settings.read("num_beams", options.beam);
  settings.read("length_penalty", options.length_penalty);
  settings.read("do_sample", options.sample);
  if (options.sample) {
    settings.read("temperature", options.temperature);
    settings.read("top_k", options.top_k);
    settings.read("top_p", options.top_p);
    settings.read("min_p", options.min_p);
    options.beam = 1;
  }
  std::int64_t max_length = 0;
  settings.read("max_length", max_length);  // the start token counts
  if (max_length > 1 && settings.find("decoder_start_token_id") != nullptr) options.max_new = max_length - 1;
  settings.read("max_new_tokens", options.max_new);
  return options;
}

LoadedModel LoadedModel::open(const std::filesystem::path& path) {
  const formats::ModelFolder folder = formats::ModelFolder::open(path);
  LoadedModel loaded;
  loaded.warning = folder.warning;
  loaded.options = search_options_of(folder);
  loaded.target = text::Tokenizer::load(folder.tokenizer);
  const std::filesystem::path second = folder.tokenizer / kSourceTokenizer;
  loaded.source = std::filesystem::exists(second) ? text::Tokenizer::load(second) : loaded.target;
  loaded.model = load_model(folder);
  check_fit(folder, *loaded.target, loaded.model->vocabulary(), "output");
  if (loaded.model->kind() != ModelKind::encoder_decoder) return loaded;
  check_fit(folder, *loaded.source, loaded.model->source_vocabulary(), "source");
  if (loaded.options.start_token < 0)
    throw file_error(folder.config_file, "\"decoder_start_token_id\" is missing")
        .remedy("say in generation_config.json which token a translation starts with");
  // Our own training ends each source with the end token, whether the tokenizer adds it or not.
  const auto type = folder.config.find("model_type");
  if (type != folder.config.end() && *type == kTransformerType && !loaded.options.end_tokens.empty())
    loaded.source_end =
        loaded.source->id_of(loaded.target->token_of(loaded.options.end_tokens[0])).value_or(-1);
  return loaded;
}

std::vector<std::int32_t> LoadedModel::encode_source(std::string_view text) const {
  std::vector<std::int32_t> ids = source->encode_ids(text, {.add_special = true, .match_special = false});
  if (source_end >= 0 && (ids.empty() || ids.back() != source_end)) ids.push_back(source_end);
  return ids;
}

std::vector<std::int32_t> LoadedModel::encode_prompt(std::string_view text) const {
  return target->encode_ids(text, {.add_special = false, .match_special = false});
}

std::string LoadedModel::decode(const Hypothesis& hypothesis) const {
  return target->decode(hypothesis.tokens);
}

}  // namespace regard::infer
