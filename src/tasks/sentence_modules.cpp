#include "tasks/sentence_modules.h"

#include <array>
#include <utility>

#include "base/json.h"
#include "formats/weights.h"
#include "regard/error.h"

namespace regard::tasks {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostTokens = 1 << 24;  // largest valid limit of the tokens of a text

struct ModeName {
  PoolingMode mode;
  const char* name;    // name of the mode in sentence-transformers since version 5
  const char* legacy;  // name of the flag in older files
};
constexpr std::array kModes{
    ModeName{PoolingMode::cls, "cls", "pooling_mode_cls_token"},
    ModeName{PoolingMode::max, "max", "pooling_mode_max_tokens"},
    ModeName{PoolingMode::mean, "mean", "pooling_mode_mean_tokens"},
    ModeName{PoolingMode::mean_sqrt_len, "mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens"},
    ModeName{PoolingMode::weighted_mean, "weightedmean", "pooling_mode_weightedmean_tokens"},
    ModeName{PoolingMode::last, "lasttoken", "pooling_mode_lasttoken"}};

PoolingMode known_mode(const std::string& name, const std::string& file) {
  if (const auto mode = pooling_mode_of(name)) return *mode;
  throw file_error(file, "unknown pooling mode")
      .found("\"" + name + "\"")
      .expected("cls, max, mean, mean_sqrt_len_tokens, weightedmean or lasttoken");
}

// Read the pooling modes in the order in which sentence-transformers concatenates them.
std::vector<PoolingMode> read_modes(const Json& config, const std::string& file) {
  std::vector<PoolingMode> modes;
  if (const auto named = config.find("pooling_mode"); named != config.end()) {
    if (named->is_string()) return {known_mode(named->get<std::string>(), file)};
    for (const std::string& name : json_as<std::vector<std::string>>(*named, "pooling_mode", file))
      modes.push_back(known_mode(name, file));
  } else {
    for (const ModeName& known : kModes)
      if (optional_value<bool>(config, known.legacy, file).value_or(false)) modes.push_back(known.mode);
  }
  if (modes.empty()) modes.push_back(PoolingMode::mean);
  return modes;
}

void read_pooling(const fs::path& folder, SentenceModules& modules) {
  const std::string file = (folder / "config.json").string();
  const Json config = read_json(file);
  modules.pooling = read_modes(config, file);
  modules.pools_prompt = optional_value<bool>(config, "include_prompt", file).value_or(true);
}

kernels::Activation read_activation(const Json& config, const std::string& file) {
  const auto name = optional_value<std::string>(config, "activation_function", file);
  if (!name) return kernels::Activation::tanh;
  const std::string last = name->substr(name->rfind('.') + 1);
  if (last == "Tanh") return kernels::Activation::tanh;
  if (last == "Identity") return kernels::Activation::none;
  if (last == "ReLU") return kernels::Activation::relu;
  if (last == "GELU") return kernels::Activation::gelu;
  throw file_error(file, "unknown activation")
      .found("\"" + *name + "\"")
      .expected("Tanh, Identity, ReLU or GELU");
}

std::unique_ptr<DenseModule> read_dense(const fs::path& folder) {
  const std::string file = (folder / "config.json").string();
  const Json config = read_json(file);
  auto dense = std::make_unique<DenseModule>();
  dense->activation = read_activation(config, file);
  const formats::Weights weights = formats::Weights::open(folder);
  dense->weight = weights.tensor("linear.weight").to(DType::f32).clone();
  const Shape& shape = dense->weight.shape();
  if (shape.rank() != 2)
    throw file_error(weights.label(), "linear.weight is not a matrix")
        .found(shape.text())
        .expected("[out, in]");
  if (!optional_value<bool>(config, "bias", file).value_or(true)) return dense;
  dense->bias = weights.tensor("linear.bias").to(DType::f32).clone();
  if (dense->bias.elements() != shape[0])
    throw file_error(weights.label(), "the shape of linear.bias does not match linear.weight")
        .found(dense->bias.shape().text())
        .expected("[" + std::to_string(shape[0]) + "]");
  return dense;
}

// Return the module's folder; an empty path means the root. Throws bad_file for a path outside the root.
fs::path module_folder(const fs::path& root, const Json& module, const std::string& file) {
  const auto path = require<std::string>(module, "path", file);
  if (path.empty()) return root;
  if (!formats::plain_file_name(path))
    throw file_error(file, "a module is outside the folder")
        .found("\"" + path + "\"")
        .expected("the name of a subfolder");
  return root / path;
}

// Use the tokenizer's maximum number of tokens if the modules specify none. A very large number is ignored,
// because transformers writes it for "no limit".
void read_tokenizer_limit(const fs::path& folder, SentenceModules& modules) {
  const std::string file = (folder / "tokenizer_config.json").string();
  if (modules.most_tokens > 0 || !fs::exists(file)) return;
  const auto most = optional_value<double>(read_json(file), "model_max_length", file);
  if (most && *most >= 1 && *most <= kMostTokens) modules.most_tokens = static_cast<std::int64_t>(*most);
}

void read_limits(const fs::path& folder, SentenceModules& modules) {
  for (const char* name :
       {"sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json",
        "sentence_camembert_config.json", "sentence_albert_config.json", "sentence_xlm-roberta_config.json",
        "sentence_xlnet_config.json"}) {
    const std::string file = (folder / name).string();
    if (!fs::exists(file)) continue;
    const Json config = read_json(file);
    if (optional_value<std::int64_t>(config, "max_seq_length", file))
      modules.most_tokens = require_in<std::int64_t>(config, "max_seq_length", file, 1, kMostTokens);
    if (optional_value<bool>(config, "do_lower_case", file).value_or(false))
      throw file_error(file, "\"do_lower_case\" is not supported").found("true").expected("false");
    return;
  }
}

void read_prompt(const fs::path& folder, SentenceModules& modules) {
  const std::string file = (folder / "config_sentence_transformers.json").string();
  if (!fs::exists(file)) return;
  const Json config = read_json(file);
  modules.dot = optional_value<std::string>(config, "similarity_fn_name", file).value_or("cosine") == "dot";
  const auto name = optional_value<std::string>(config, "default_prompt_name", file);
  if (!name) return;
  const auto prompts = config.find("prompts");
  if (prompts == config.end() || !prompts->is_object() || !prompts->contains(*name))
    throw file_error(file, "\"default_prompt_name\" is not one of the prompts")
        .found("\"" + *name + "\"")
        .expected("a key of \"prompts\"");
  modules.prompt = json_as<std::string>((*prompts)[*name], *name, file);
}

}  // namespace

const char* name_of(PoolingMode mode) noexcept {
  for (const ModeName& known : kModes)
    if (known.mode == mode) return known.name;
  return "";
}

std::optional<PoolingMode> pooling_mode_of(std::string_view name) noexcept {
  for (const ModeName& known : kModes)
    if (name == known.name) return known.mode;
  return std::nullopt;
}

SentenceModules SentenceModules::open(const fs::path& folder) {
  SentenceModules modules;
  modules.model = folder;
  const std::string file = (folder / "modules.json").string();
  if (!fs::exists(file)) return modules;
  const Json list = read_json(file);
  if (!list.is_array() || list.empty())
    throw file_error(file, "the file is not a list of modules")
        .found(describe(list))
        .expected("an array of at least one object");
  bool pooled = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto type = require<std::string>(list[i], "type", file);
    const std::string kind = type.substr(type.rfind('.') + 1);
    const fs::path place = module_folder(folder, list[i], file);
    if ((kind == "Transformer") != (i == 0))
      throw file_error(file, i == 0 ? "the first module is not a Transformer"
                                    : "a module after the first is a Transformer")
          .found("\"" + type + "\"")
          .expected(i == 0 ? "Transformer" : "Pooling, then Dense and Normalize");
    if (kind == "Transformer") {
      modules.model = place;
      read_limits(place, modules);
      read_tokenizer_limit(place, modules);
    } else if (kind == "Pooling" && !pooled) {
      read_pooling(place, modules);
      pooled = true;
    } else if (kind == "Dense" && pooled) {
      modules.steps.push_back(read_dense(place));
    } else if (kind == "Normalize" && pooled) {
      modules.steps.push_back(nullptr);
    } else {
      throw file_error(file, "unsupported module")
          .found("\"" + type + "\"")
          .expected("Transformer, Pooling, then Dense and Normalize");
    }
  }
  read_prompt(folder, modules);
  return modules;
}

}  // namespace regard::tasks
