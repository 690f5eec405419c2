#include "models/lora.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/random.h"
#include "ops/parameter.h"

namespace regard::models {
namespace {

constexpr std::string_view kPrefix = "base_model.model.";
// PEFT wraps each adapted module and each saved module; the weight names of wrapped modules contain one of
// these strings.
constexpr const char* kBaseLayer = ".base_layer.";
constexpr const char* kSavedModule = ".modules_to_save.";
// Weights whose names contain this string are ignored: they are the original weights of a saved module.
constexpr const char* kOriginalModule = ".original_module.";

std::string without_ending(const std::string& name, std::string_view ending) {
  return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

// Return the name of a parameter's module: the parameter's name without its ending, such as ".weight".
std::string module_of(const std::string& name) {
  return name.substr(0, std::min(name.rfind('.'), name.size()));
}

// Remove PEFT's wrapper from the name of a weight that the adapter stores in full. The result is the weight's
// name in the base model.
std::string unwrapped(std::string name) {
  for (const std::string wrapper : {kBaseLayer, kSavedModule})
    if (const std::size_t at = name.find(wrapper); at != name.npos) name.replace(at, wrapper.size(), ".");
  return name;
}

// Return `name` without a prefix that files may omit (NameRules::prefixes).
std::string short_name(const std::string& name, const NameRules& rules) {
  for (const std::string& prefix : rules.prefixes)
    if (!prefix.empty() && name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

// Convert a name in a checkpoint to the name of the module in transformers 5.
std::string module_name(std::string name, const NameRules& rules) {
  for (const auto& [part, replacement] : rules.modules)
    if (const std::size_t at = name.find(part); at != name.npos) name.replace(at, part.size(), replacement);
  return name;
}

NameStyle style_of(const formats::SafetensorsFile& adapter, const NameRules& rules) {
  const auto& entries = adapter.entries();
  return std::any_of(entries.begin(), entries.end(),
                     [&](const auto& entry) { return module_name(entry.name, rules) != entry.name; })
             ? NameStyle::checkpoint
             : NameStyle::module;
}

void set_value(Parameter& parameter, const Tensor& value) {
  if (!parameter.is_held()) return parameter.adopt(value);
  Parameter::Held held;
  held.numbers = value.reshape(parameter.value().shape());
  parameter.hold(std::move(held));
}

Tensor checked(const formats::SafetensorsFile& file, const std::string& name, const Shape& shape) {
  const Tensor tensor = file.tensor(name);
  if (tensor.elements() != shape.elements() || tensor.rows() != Tensor::view(nullptr, shape).rows())
    throw file_error(file.path().string(), "the adapter's \"" + name + "\" does not fit the model")
        .found("shape " + tensor.shape().text())
        .expected(shape.text());
  return tensor.to(DType::f32);
}

}  // namespace

std::vector<std::string> full_names(Network& model, NameStyle style) {
  const NameRules& rules = model.name_rules();
  std::map<std::string, std::string> full;
  const std::unique_ptr<Network> reference = make_model(model.config());
  for (const Parameter* parameter : reference->parameters())
    full[short_name(parameter->name, rules)] = parameter->name;
  std::vector<std::string> names;
  for (const Parameter* parameter : model.parameters()) {
    const auto found = full.find(short_name(parameter->name, rules));
    names.push_back(found != full.end() ? found->second : parameter->name);
    if (style == NameStyle::module) names.back() = module_name(names.back(), rules);
  }
  return names;
}

std::string peft_task_type(const Network& model) {
  if (model.kind() == ModelKind::encoder_decoder) return "SEQ_2_SEQ_LM";
  switch (model.output()) {
    case Output::next_token:
      return "CAUSAL_LM";
    case Output::token_classes:
      return "TOKEN_CLS";
    case Output::sequence_classes:
      return model.input_spec().kind == InputKind::tokens ? "SEQ_CLS" : "";
    case Output::span:
      return "QUESTION_ANS";
    case Output::pooled:
    case Output::none:
      return "FEATURE_EXTRACTION";
    default:
      return "";
  }
}

std::vector<std::string> peft_head_modules(const Network& model) {
  switch (model.output()) {
    case Output::token_classes:
    case Output::sequence_classes:
      return {"classifier", "score"};
    case Output::span:
      return {"qa_outputs"};
    default:
      return {};
  }
}

std::vector<Parameter*> low_rank_parameters(Network& model) {
  std::vector<Parameter*> all;
  for (const Parameter* weight : model.parameters())
    if (nn::LowRank* update = nn::low_rank_of(*weight)) all.insert(all.end(), {&update->a, &update->b});
  return all;
}

std::string adapter_name(const Parameter& parameter) {
  return std::string(kPrefix) + parameter.name;
}

void Lora::add_update(Parameter& weight, const std::string& module, std::int64_t rank) {
  nn::LowRank& update = nn::add_low_rank(weight, module, rank, 1.0f);
  update.scale = static_cast<float>(config_.scale_of(module, rank));
  adapted_.push_back(&weight);
  updates_.push_back({adapter_name(update.a), &update.a});
  updates_.push_back({adapter_name(update.b), &update.b});
}

void Lora::add_whole(Parameter& parameter, const std::string& name) {
  const auto same = [&parameter](const Named& one) { return one.parameter == &parameter; };
  if (std::none_of(whole_.begin(), whole_.end(), same))
    whole_.push_back({std::string(kPrefix) + name, &parameter});
}

void Lora::add_biases_and_modules() {
  const std::vector<Parameter*> parameters = model_->parameters();
  const std::vector<std::string> names = full_names(*model_, style_);
  std::set<std::string> adapted;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string module = module_of(names[i]);
    if (nn::low_rank_of(*parameters[i]) != nullptr) adapted.insert(module);
    if (config_.saves(module)) add_whole(*parameters[i], names[i]);
  }
  // PEFT lists the heads of all families in modules_to_save, so only a list without any match is an error.
  if (!config_.modules_to_save.empty() && whole_.empty())
    throw usage_error("no module of the model matches the adapter's modules_to_save")
        .found(Json(config_.modules_to_save).dump())
        .remedy("Run `regard info` to list the model's weights; a tied weight has no separate module");
  if (config_.bias == "none") return;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (const std::string module = module_of(names[i]);
        names[i].ends_with(".bias") && (config_.bias == "all" || adapted.contains(module)))
      add_whole(*parameters[i], adapted.contains(module) ? module + kBaseLayer + "bias" : names[i]);
}

// Add a new update to each module whose name in `style` is one of the adapter's targets. Return false if no
// module matches.
bool Lora::add_updates(NameStyle style, std::uint64_t seed) {
  style_ = style;
  const std::vector<Parameter*> parameters = model_->parameters();
  const std::vector<std::string> names = full_names(*model_, style);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string module = without_ending(names[i], ".weight");
    if (!nn::has_low_rank(*parameters[i])) {
      const bool table = parameters[i]->use == Parameter::Use::table && names[i].ends_with(".weight");
      if (table && config_.adapts(module, true))
        throw usage_error("an embedding or output layer cannot have a low-rank update")
            .found("\"" + module + "\"")
            .remedy("Name the layer in modules_to_save instead");
      continue;
    }
    if (!config_.adapts(module)) continue;
    add_update(*parameters[i], module, config_.rank_of(module));
    Tensor a = nn::low_rank_of(*parameters[i])->a.value();
    RandomStream stream({seed, 0, place_of(module + ".lora_A")});
    const double bound = 1.0 / std::sqrt(static_cast<double>(a.columns()));
    for (std::int64_t j = 0; j < a.elements(); ++j)
      a.f32()[j] = static_cast<float>(bound * (2.0 * static_cast<double>(stream.next_uniform()) - 1.0));
  }
  return !adapted_.empty();
}

Lora::Lora(Network& model, const LoraConfig& config, std::uint64_t seed) : model_(&model), config_(config) {
  config.check();
  if (!add_updates(NameStyle::module, seed) && !add_updates(NameStyle::checkpoint, seed)) {
    std::string example = "query";
    const std::vector<Parameter*> parameters = model.parameters();
    const auto linear = std::find_if(parameters.begin(), parameters.end(),
                                     [](const Parameter* weight) { return nn::has_low_rank(*weight); });
    if (linear != parameters.end()) {
      const auto first = static_cast<std::size_t>(linear - parameters.begin());
      const std::string module = without_ending(full_names(model, NameStyle::module)[first], ".weight");
      example = module.substr(module.rfind('.') + 1);
    }
    throw usage_error("no module of the model matches the adapter's targets")
        .found(config.target_pattern.empty() ? Json(config.targets).dump() : config.target_pattern)
        .expected("the end of a linear layer's name, such as \"" + example + "\"")
        .remedy("Run `regard info` to list the model's weights");
  }
  add_biases_and_modules();
}

Lora::Lora(Network& model, const std::filesystem::path& folder) : model_(&model) {
  const std::string file = (folder / kAdapterConfig).string();
  config_ = LoraConfig::from_json(read_json(file), file);
  read(*formats::SafetensorsFile::open(folder / kAdapterWeights));
}

void Lora::read(const formats::SafetensorsFile& file) {
  const NameRules& rules = model_->name_rules();
  const std::vector<Parameter*> parameters = model_->parameters();
  style_ = style_of(file, rules);
  const std::vector<std::string> names = full_names(*model_, style_);
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < names.size(); ++i) index[short_name(names[i], rules)] = i;
  const auto find = [&](const std::string& name, const std::string& entry) {
    const auto found = index.find(short_name(name, rules));
    if (found == index.end())
      throw file_error(file.path().string(), "the adapter's \"" + entry + "\" matches no weight of the model")
          .remedy("Check that the adapter was trained for this base model");
    return found->second;
  };
  for (const formats::TensorEntry& entry : file.entries()) {
    if (!entry.name.starts_with(kPrefix))
      throw file_error(file.path().string(), "the adapter has a tensor without the prefix of PEFT's files")
          .found("\"" + entry.name + "\"")
          .expected(std::string(kPrefix) + "…");
    const std::string name = entry.name.substr(kPrefix.size());
    const std::string module = without_ending(name, ".lora_A.weight");
    if (module != name) {
      const std::size_t which = find(module + ".weight", entry.name);
      Parameter& weight = *parameters[which];
      if (!nn::has_low_rank(weight))
        throw file_error(file.path().string(),
                         "the adapter has a low-rank update of a weight that cannot have one")
            .found("\"" + entry.name + "\"")
            .expected("updates of linear layers other than heads and output layers")
            .remedy("Merge the adapter into its base model with PEFT, and open the merged folder");
      const Tensor a = file.tensor(entry.name);
      if (a.shape().rank() != 2 || a.rows() < 1)
        throw file_error(file.path().string(), "\"" + entry.name + "\" has a wrong shape")
            .found(a.shape().text())
            .expected("a matrix [rank, in] with a rank of at least 1");
      add_update(weight, without_ending(names[which], ".weight"), a.rows());
      nn::LowRank& update = *nn::low_rank_of(weight);
      update.a.adopt(checked(file, entry.name, update.a.value().shape()));
      update.b.adopt(
          checked(file, std::string(kPrefix) + module + ".lora_B.weight", update.b.value().shape()));
    } else if (name.find(kOriginalModule) != std::string::npos) {
      continue;
    } else if (name.find(".lora_") == std::string::npos) {
      const std::size_t which = find(unwrapped(name), entry.name);
      set_value(*parameters[which], checked(file, entry.name, parameters[which]->value().shape()));
      add_whole(*parameters[which], name);
    } else if (!name.ends_with(".lora_B.weight") ||
               file.find(without_ending(entry.name, "B.weight") + "A.weight") == nullptr) {
      throw file_error(file.path().string(), "the adapter has a tensor that does not belong to LoRA")
          .found("\"" + entry.name + "\"")
          .expected(
              "pairs ….lora_A.weight and ….lora_B.weight; other tensors only for biases and modules_to_save");
    }
  }
}

std::vector<Parameter*> Lora::parameters() const {
  std::vector<Parameter*> all;
  for (const auto* list : {&updates_, &whole_})
    for (const Named& one : *list) all.push_back(one.parameter);
  return all;
}

std::vector<formats::NamedTensor> Lora::tensors() const {
  std::vector<formats::NamedTensor> tensors;
  for (const auto* list : {&updates_, &whole_})
    for (const Named& one : *list) tensors.push_back({one.name, one.parameter->value()});
  return tensors;
}

Json Lora::config_json(const std::string& task_type) const {
  const bool transposed = std::any_of(adapted_.begin(), adapted_.end(), [](const Parameter* weight) {
    return weight->use == Parameter::Use::transposed_linear;
  });
  return config_.to_json(transposed, task_type);
}

void Lora::load(const std::filesystem::path& folder) {
  const auto file = formats::SafetensorsFile::open(folder / kAdapterWeights);
  for (const auto* list : {&updates_, &whole_})
    for (const Named& one : *list) {
      const Tensor value = checked(*file, one.name, one.parameter->value().shape());
      if (!one.parameter->trainable()) {
        set_value(*one.parameter, value);
      } else {
        std::memcpy(one.parameter->value().data(), value.data(), value.bytes());
      }
    }
}

void Lora::merge(ThreadPool& pool) {
  for (Parameter* weight : adapted_) nn::merge_low_rank(pool, *weight);
  adapted_.clear();
  updates_.clear();
}

}  // namespace regard::models
