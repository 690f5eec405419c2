#include "infer/transformers_folder.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/folder.h"
#include "infer/generation_settings.h"
#include "infer/loaded_model.h"
#include "infer/search.h"
#include "models/quantize.h"
#include "models/transformers_class.h"
#include "models/weights.h"
#include "ops/parameter.h"
#include "text/tokenizer_config.h"
#include "text/tokenizer_pair.h"

namespace regard::infer {
namespace {

namespace fs = std::filesystem;

using TextFiles = std::vector<std::pair<std::string, std::string>>;  // pairs of file name and content

// Return the stored half-precision type if all weights have the same one, otherwise float32.
DType stored_dtype(Network& model) {
  const std::vector<Parameter*> all = model.parameters();
  const DType first = all.at(0)->stored_dtype;
  const bool half = first == DType::f16 || first == DType::bf16;
  const bool alike = std::all_of(all.begin(), all.end(), [first](const Parameter* parameter) {
    return parameter->stored_dtype == first;
  });
  return half && alike ? first : DType::f32;
}

const char* torch_name(DType dtype) {
  return dtype == DType::f16 ? "float16" : dtype == DType::bf16 ? "bfloat16" : "float32";
}

// Return a post-processor of tokenizer.json that applies `before` and then appends the token `end`. Needed if
// the run's tokenizer does not append this token, because regard then appends it.
Json ending_with(const text::Tokenizer& tokenizer, const Json& before, const std::string& end) {
  const auto id = tokenizer.id_of(end);
  if (!id || (!tokenizer.after().empty() && tokenizer.after().back() == *id)) return before;
  const auto part = [](const char* kind, const std::string& name, int type) {
    return Json{{kind, {{"id", name}, {"type_id", type}}}};
  };
  const Json append{{"type", "TemplateProcessing"},
                    {"single", {part("Sequence", "A", 0), part("SpecialToken", end, 0)}},
                    {"pair",
                     {part("Sequence", "A", 0), part("SpecialToken", end, 0), part("Sequence", "B", 1),
                      part("SpecialToken", end, 1)}},
                    {"special_tokens", {{end, {{"id", end}, {"ids", {*id}}, {"tokens", {end}}}}}}};
  if (before.is_null()) return append;
  return {{"type", "Sequence"}, {"processors", {before, append}}};
}

// Return a normalizer for tokenizer.json that applies normalize_whitespace() and then `normalizer`.
Json after_white_space(const Json& normalizer) {
  const auto replace = [](const char* expression, const char* content) {
    return Json{{"type", "Replace"}, {"pattern", {{"Regex", expression}}}, {"content", content}};
  };
  Json parts = {replace("\\A\\x{FEFF}", ""),
                {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}},
                replace("[ \\t\\n\\x{0B}\\f\\r]\\s*|\\s\\s+", " ")};
  if (!normalizer.is_null()) parts.push_back(normalizer);
  return {{"type", "Sequence"}, {"normalizers", std::move(parts)}};
}

// Return a tokenizer.json with which AutoTokenizer returns the same ids as in training. White space is
// normalised as in the run, sources end with the end token, and prompts have no special tokens.
std::string tokenizer_file(const text::Tokenizer& tokenizer, const TransformerConfig& config,
                           const std::string& end, bool normalizes_white_space) {
  Json json = tokenizer.to_json();
  if (normalizes_white_space) json["normalizer"] = after_white_space(json["normalizer"]);
  Json& processor = json["post_processor"];
  if (config.kind == "decoder") {
    if (!tokenizer.before().empty() || !tokenizer.after().empty()) processor = nullptr;
  } else if (!end.empty()) {
    processor = ending_with(tokenizer, processor, end);
  }
  return json.dump() + "\n";
}

Json tokenizer_config(const text::Tokenizer& tokenizer, const TransformerConfig& config,
                      const text::Tokenizer& target) {
  text::TokenRoles roles;
  const std::pair<const char*, std::int64_t> ids[] = {{"bos_token", config.bos_token_id},
                                                      {"eos_token", config.eos_token_id},
                                                      {"pad_token", config.pad_token_id}};
  for (const auto& [role, id] : ids)
    if (id >= 0) roles.emplace_back(role, target.token_of(static_cast<std::int32_t>(id)));
  for (const char* unknown : {"<unk>", "[UNK]"}) roles.emplace_back("unk_token", unknown);
  const text::TokenizerUse use{.max_length = transformers_positions(config),
                               .pads_left = config.kind == "decoder"};
  return text::fast_tokenizer_config(tokenizer, use, roles);
}

void add_tokenizers(const formats::ModelFolder& from, const TransformerConfig& config, TextFiles& files) {
  if (!fs::exists(from.tokenizer / text::kTokenizerFile)) return;
  const text::TokenizerPair pair = text::load_tokenizer_pair(from.tokenizer);
  const std::string end =
      config.eos_token_id < 0 ? "" : pair.target->token_of(static_cast<std::int32_t>(config.eos_token_id));
  const bool joint = pair.source == pair.target;
  bool normalizes = false;
  GenerationSettings(from, true).read(kNormalizeWhitespace, normalizes);
  files.emplace_back(text::kTokenizerFile, tokenizer_file(*pair.source, config, end, normalizes));
  if (!joint)
    files.emplace_back(text::kTargetTokenizerFile, tokenizer_file(*pair.target, config, end, normalizes));
  files.emplace_back("tokenizer_config.json",
                     tokenizer_config(*pair.source, config, *pair.target).dump(2) + "\n");
}

// Return the run's generation_config.json with a maximum length, because transformers' default is 20 tokens.
Json generation_config(const formats::ModelFolder& from, const TransformerConfig& config) {
  Json json = from.generation_config.value_or(Json::object());
  const std::pair<const char*, std::int64_t> ids[] = {
      {"pad_token_id", config.pad_token_id},
      {"bos_token_id", config.bos_token_id},
      {"eos_token_id", config.eos_token_id},
      {"decoder_start_token_id", config.decoder_start_token_id}};
  for (const auto& [key, id] : ids)
    if (id >= 0 && !json.contains(key)) json[key] = id;
  if (json.contains("max_length") || json.contains("max_new_tokens")) return json;
  const std::int64_t positions = transformers_positions(config);
  if (config.kind == "decoder" && positions > kDefaultNew) {
    json["max_new_tokens"] = kDefaultNew;
    return json;
  }
  // max_length includes the start token, and the last token needs no position.
  json["max_length"] = config.kind == "decoder" ? positions : positions + 1;
  json[kAutomaticLength] = true;
  return json;
}

void write(const fs::path& path, const TextFiles& files, const std::vector<formats::NamedTensor>& tensors) {
  AtomicFolder whole(path);
  formats::write_safetensors(whole.temporary() / "model.safetensors", tensors, {{"format", "pt"}});
  for (const auto& [name, content] : files) write_file_atomically(whole.temporary() / name, content);
  whole.commit();
}

}  // namespace

bool is_own_model(const formats::ModelFolder& folder) {
  const auto type = folder.config.find("model_type");
  return type != folder.config.end() && *type == kTransformerType;
}

void save_for_transformers(const formats::ModelFolder& from, const fs::path& to, std::optional<DType> dtype) {
  Json own = from.config;
  set_quantization(own, false);
  const TransformerConfig config = TransformerConfig::from_json(own, from.config_file);
  Json json = transformers_config(config);
  const auto model = load_merged_model(from, WeightMode::widened);
  const DType wanted = dtype.value_or(stored_dtype(*model));
  json["dtype"] = torch_name(wanted);
  TextFiles files{{"config.json", json.dump(2) + "\n"},
                  {"generation_config.json", generation_config(from, config).dump(2) + "\n"}};
  add_tokenizers(from, config, files);
  std::vector<formats::NamedTensor> tensors = transformers_weights(*model, config);
  for (formats::NamedTensor& item : tensors)
    if (wanted != DType::f32) item.tensor = item.tensor.to(wanted);
  write(to, files, tensors);
}

}  // namespace regard::infer
