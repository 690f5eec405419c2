#include "formats/model_folder.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/lasting_path.h"
#include "formats/checkpoint.h"

namespace regard::formats {
namespace {

constexpr std::size_t kMaxConfig = std::size_t{64} << 20;  // maximum size of a JSON file in bytes

Json read_object(const std::filesystem::path& path) {
  JsonLimits limits;
  limits.bytes = kMaxConfig;
  return read_json_object(path.string(), limits);
}

constexpr std::size_t kShownLanguages = 20;  // maximum number of languages in a message
constexpr std::string_view kLanguagePrefix = "adapter.", kLanguageSuffix = ".safetensors";

// Return the folder of the tokenizer: `given`, such as a run folder, if only that folder has tokenizer.json;
// otherwise `model`, the folder of the weights.
std::filesystem::path tokenizer_folder(const std::filesystem::path& model,
                                       const std::filesystem::path& given) {
  const bool with_model = std::filesystem::exists(model / "tokenizer.json");
  return !with_model && std::filesystem::exists(given / "tokenizer.json") ? given : model;
}

}  // namespace

ModelFolder ModelFolder::open(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path))
    throw Error(ErrorKind::io, "no such model folder", {path.string(), -1, -1})
        .remedy("Give the path of a Hugging Face folder or a run folder; nothing is downloaded");
  if (!std::filesystem::is_directory(path))
    throw Error(ErrorKind::io, "the path is a file, not a model folder", {path.string(), -1, -1})
        .expected("a folder with config.json and model.safetensors, or a run folder");
  ModelFolder model;
  model.given = model.path = path;
  if (RunFolder::is_run_folder(path)) {
    const auto best = RunFolder::open(path).best();
    if (!best)
      throw file_error(path.string(), "the run has no checkpoint yet")
          .remedy("Resume the run: regard train --resume " + path.string());
    model.path = best->folder;
    model.warning = best->warning;
    model.lock = best->lock;
  }
  const std::filesystem::path config = model.path / "config.json";
  const bool adapted = std::filesystem::exists(model.path / "adapter_config.json");
  if (adapted && !std::filesystem::exists(config))
    throw file_error(path.string(), "the folder is a LoRA adapter, not a model")
        .remedy("Give the folder of the base model as the model, and the adapter's folder with --adapter");
  if (adapted) model.adapter = model.path;
  if (!std::filesystem::exists(config))
    throw file_error(path.string(), "not a model folder: it has no config.json")
        .expected("a Hugging Face folder or a run folder");
  model.config_file = config.string();
  model.config = read_object(config);
  if (const auto generation = model.path / "generation_config.json"; std::filesystem::exists(generation))
    model.generation_config = read_object(generation);
  model.tokenizer = tokenizer_folder(model.path, path);
  return model;
}

void ModelFolder::make_absolute() {
  for (std::filesystem::path* one : {&path, &tokenizer, &adapter, &language_weights})
    *one = lasting_path(*one);
}

std::vector<std::string> ModelFolder::languages() const {
  std::vector<std::string> codes;
  std::error_code ignored;
  for (const auto& item : std::filesystem::directory_iterator(path, ignored)) {
    const std::string name = item.path().filename().string();
    if (name.size() > kLanguagePrefix.size() + kLanguageSuffix.size() && name.starts_with(kLanguagePrefix) &&
        name.ends_with(kLanguageSuffix))
      codes.push_back(
          name.substr(kLanguagePrefix.size(), name.size() - kLanguagePrefix.size() - kLanguageSuffix.size()));
  }
  std::sort(codes.begin(), codes.end());
  return codes;
}

void ModelFolder::select_language(const std::string& code) {
  const std::vector<std::string> codes = languages();
  if (codes.empty())
    throw usage_error("the model has no language-specific weights")
        .found("language \"" + code + "\"")
        .expected("a folder with files adapter.CODE.safetensors");
  if (!std::binary_search(codes.begin(), codes.end(), code)) {
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(codes.size(), kShownLanguages); ++i)
      list += (i == 0 ? "" : ", ") + codes[i];
    if (codes.size() > kShownLanguages) list += ", … (" + std::to_string(codes.size()) + " languages)";
    throw usage_error("the model has no weights for this language").found(code).expected(list);
  }
  language_weights = path / (std::string(kLanguagePrefix) + code + std::string(kLanguageSuffix));
  // Each language has its own labels, so the vocabulary size depends on the language.
  if (const Weights weights = Weights::open_file(language_weights); weights.contains("lm_head.weight")) {
    const auto& shape = weights.entry("lm_head.weight").shape;
    if (shape.size() == 2) config["vocab_size"] = shape[0];
  }
}

Weights ModelFolder::weights() const {
  Weights weights = Weights::open(path);
  if (!language_weights.empty()) weights.replace_with(language_weights);
  return weights;
}

}  // namespace regard::formats
