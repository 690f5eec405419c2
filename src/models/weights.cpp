#include "models/weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/file.h"
#include "base/folder.h"
#include "base/read_ahead.h"
#include "models/lora.h"
#include "models/quantize.h"
#include "models/tensor_names.h"
#include "ops/parameter.h"

namespace regard::models {
namespace {

constexpr const char* kInt8 = "I8";

bool computed_with(const std::string& dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16" || dtype == "F64";
}

Shape stored_shape(const Parameter& parameter) {
  return parameter.stored_shape.rank() > 0 ? parameter.stored_shape : parameter.value().shape();
}

// Check that the scales have the right dtype and size and are finite, and that no value is −128.
void check_int8(const Bound& bound, const formats::Weights& weights) {
  const formats::TensorEntry& entry = weights.entry(bound.scale);
  const std::int64_t outputs = bound.parameter->outputs();
  if (entry.dtype != "F32" || static_cast<std::int64_t>(entry.elements()) != outputs)
    throw file_error(weights.label(),
                     "the scale \"" + bound.scale + "\" of \"" + bound.name + "\" has a wrong dtype or size")
        .found(entry.dtype + ", " + std::to_string(entry.elements()) + " numbers")
        .expected("F32, " + std::to_string(outputs) + " numbers");
  const Tensor scale = weights.tensor(bound.scale);
  for (std::int64_t i = 0; i < outputs; ++i)
    if (!std::isfinite(scale.f32()[i]))
      throw file_error(weights.label(), "tensor \"" + bound.scale + "\" is not finite")
          .found(std::to_string(scale.f32()[i]) + " at index " + std::to_string(i))
          .expected("finite numbers");
  const Tensor numbers = weights.tensor(bound.name);
  const auto* first = static_cast<const std::int8_t*>(numbers.data());
  if (std::find(first, first + numbers.elements(), std::int8_t{-128}) != first + numbers.elements())
    throw file_error(weights.label(), "tensor \"" + bound.name + "\" has an int8 value out of range")
        .found("-128")
        .expected("-127 to 127");
}

void check_tensor(const Bound& bound, const formats::Weights& weights) {
  const formats::TensorEntry& entry = weights.entry(bound.name);
  const Shape shape = stored_shape(*bound.parameter);
  const auto expected = shape.sizes();
  const auto text = [](std::span<const std::int64_t> sizes) {
    return Json(std::vector(sizes.begin(), sizes.end())).dump();
  };
  if (!std::equal(entry.shape.begin(), entry.shape.end(), expected.begin(), expected.end()))
    throw file_error(weights.label(), "tensor \"" + bound.name + "\" does not match the config")
        .found("shape " + text(entry.shape))
        .expected(text(expected));
  if (entry.dtype == kInt8 && bound.parameter->use != Parameter::Use::other)
    return check_int8(bound, weights);
  if (!computed_with(entry.dtype))
    throw file_error(weights.label(), "tensor \"" + bound.name + "\": unsupported dtype")
        .found(entry.dtype)
        .expected("F32, F16, BF16 or F64");
}

// Return the shape of the scales, [outputs, 1, …] or [1, outputs] for a transposed matrix, so that weight ·
// scale broadcasts.
Shape scale_shape(const Parameter& parameter) {
  const Shape stored = stored_shape(parameter);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(stored.rank()), 1);
  (parameter.use == Parameter::Use::transposed_linear ? sizes.back() : sizes.front()) = parameter.outputs();
  return Shape(std::span<const std::int64_t>(sizes));
}

void check_copies(const Bound& bound, const formats::Weights& weights) {
  if (bound.copies.empty()) return;
  const Tensor first = weights.tensor(bound.name);
  for (const std::string& name : bound.copies) {
    const Tensor copy = weights.tensor(name);
    if (copy.dtype() != first.dtype() || !(copy.shape() == first.shape()) ||
        std::memcmp(copy.data(), first.data(), first.bytes()) != 0)
      throw file_error(weights.label(),
                       "\"" + name + "\" differs from \"" + bound.name + "\", although the config ties both")
          .remedy(
              "If the two weights should differ, set tie_word_embeddings to false; otherwise remove the "
              "copy");
    weights.release(name);
  }
}

// Set a matrix from an int8 tensor or, for inference, from an f32, f16 or bf16 tensor, which is not
// converted. In all other cases, return false without effect.
bool hold(const Bound& bound, const formats::Weights& weights, const Tensor& stored, WeightMode mode) {
  Parameter& parameter = *bound.parameter;
  const bool int8 = stored.dtype() == DType::i8;
  const bool known =
      int8 || stored.dtype() == DType::f32 || stored.dtype() == DType::f16 || stored.dtype() == DType::bf16;
  if (parameter.use == Parameter::Use::other || !known || (mode == WeightMode::widened && !int8))
    return false;
  Parameter::Held held;
  held.numbers = stored.reshape(parameter.value().shape());
  if (int8) held.scale = weights.tensor(bound.scale).reshape({parameter.outputs()});
  held.let_go = weights.releaser(bound.name);
  if (mode != WeightMode::widened) {
    parameter.hold(std::move(held));
    return true;
  }
  parameter.allocate();
  const Tensor wide = Parameter::widened(held, parameter.use);
  std::copy_n(wide.f32(), wide.elements(), parameter.variable.value.f32());
  held.let_go();
  return true;
}

void set(const Bound& bound, const formats::Weights& weights, WeightMode mode) {
  Parameter& parameter = *bound.parameter;
  const Tensor stored = weights.tensor(bound.name);
  parameter.stored_dtype = stored.dtype();
  parameter.name = bound.name;
  if (hold(bound, weights, stored, mode)) return;
  if (stored.dtype() == DType::f32) {
    parameter.adopt(stored.reshape(parameter.value().shape()));
  } else {
    parameter.allocate();
    const Tensor converted = stored.to(DType::f32);
    std::memcpy(parameter.variable.value.f32(), converted.f32(), converted.bytes());
  }
  if (!parameter.mapped) weights.release(bound.name);
}

// Set the weights of a pooler that the head does not use.
void set_pooler(Network& model, const formats::Weights& weights) {
  for (Parameter* parameter : model.pooler_parameters()) {
    const Bound bound{parameter, *find_tensor(parameter->name, model.name_rules(), weights), {}};
    check_tensor(bound, weights);
    parameter->allocate();
    const Tensor converted = weights.tensor(bound.name).to(DType::f32);
    std::memcpy(parameter->variable.value.f32(), converted.f32(), converted.bytes());
  }
}

// Return true for files that are copied to a saved model: configuration and tokenizer files. Weights and
// files of a training run are not copied.
bool goes_along(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  constexpr std::array kKinds{".json", ".txt", ".model", ".spm", ".tiktoken", ".jinja"};
  return name != "manifest.json" && name != "state.json" && name != kAdapterConfig &&
         !name.ends_with(".index.json") &&
         std::find(kKinds.begin(), kKinds.end(), file.extension().string()) != kKinds.end();
}

// Copy the module folders of sentence-transformers that modules.json lists, including their weights.
void copy_modules(const std::filesystem::path& from, const std::filesystem::path& to) {
  namespace fs = std::filesystem;
  if (!fs::exists(from / "modules.json")) return;
  const Json modules = read_json(from / "modules.json");
  for (const Json& module : modules.is_array() ? modules : Json::array()) {
    const Json named = module.is_object() ? module.value("path", Json()) : Json();
    // A path that is not the name of a subfolder is not a module; "." would overwrite the new weights.
    if (!named.is_string() || !formats::plain_file_name(named.get<std::string>())) continue;
    const fs::path folder = named.get<std::string>();
    if (!fs::is_directory(from / folder)) continue;
    fs::create_directories(to / folder);
    for (const auto& item : fs::directory_iterator(from / folder))
      if (item.is_regular_file())
        write_file_atomically(to / folder / item.path().filename(),
                              read_regular_file(item.path(), std::size_t{1} << 30));
  }
}

}  // namespace

void load_weights(Network& model, const formats::Weights& weights, WeightMode mode) {
  const NameRules& rules = model.name_rules();
  model.fit_to_file([&](const std::string& name) { return find_tensor(name, rules, weights).has_value(); });
  const Binding binding = bind(model, weights);
  for (const Bound& bound : binding.weights) check_tensor(bound, weights);
  for (const Bound& bound : binding.weights) check_copies(bound, weights);
  for (const Bound& bound : binding.weights)
    if (const Tensor tensor = weights.tensor(bound.name); tensor.dtype() == DType::f32)
      read_ahead(tensor.data(), tensor.bytes());
  Network::Carried carried;
  for (const Bound& bound : binding.weights) {
    set(bound, weights, mode);
    for (const std::string& name : bound.copies) carried.copies.emplace_back(name, bound.parameter);
  }
  for (const std::string& name : binding.ignored) carried.tensors.emplace_back(name, weights.tensor(name));
  set_pooler(model, weights);
  model.set_carried(std::move(carried));
  if (mode == WeightMode::int8) quantize(model);
  if (mode == WeightMode::bf16) compute_in_bf16(model);
}

std::vector<formats::NamedTensor> weights_of(Network& model, bool stored_dtypes) {
  std::vector<formats::NamedTensor> tensors;
  const auto add = [&](const std::string& name, const Parameter& parameter) {
    if (parameter.is_held() && stored_dtypes) {
      tensors.push_back({name, parameter.held.numbers.reshape(stored_shape(parameter))});
      if (parameter.held.scale.defined())
        tensors.push_back({scale_name(name), parameter.held.scale.reshape(scale_shape(parameter))});
      return;
    }
    if (parameter.is_held()) {
      tensors.push_back({name, parameter.widened().reshape(stored_shape(parameter))});
      return;
    }
    const Tensor value = parameter.value().reshape(stored_shape(parameter));
    const bool as_it_is =
        !stored_dtypes || parameter.stored_dtype == DType::f32 || parameter.stored_dtype == DType::i8;
    tensors.push_back({name, as_it_is ? value : value.to(parameter.stored_dtype)});
  };
  for (const Parameter* parameter : model.parameters()) add(parameter->name, *parameter);
  for (const auto& [name, parameter] : model.carried().copies) add(name, *parameter);
  for (const auto& [name, tensor] : model.carried().tensors) tensors.push_back({name, tensor});
  return tensors;
}

std::unique_ptr<Network> load_model(const formats::ModelFolder& folder, WeightMode mode) {
  std::unique_ptr<Network> model = make_model(folder.config, folder.config_file);
  load_weights(*model, folder.weights(), mode);
  if (!folder.adapter.empty()) Lora(*model, folder.adapter);
  return model;
}

std::unique_ptr<Network> load_merged_model(const formats::ModelFolder& folder, WeightMode mode) {
  if (folder.adapter.empty()) return load_model(folder, mode);
  formats::ModelFolder base = folder;
  base.adapter.clear();
  std::unique_ptr<Network> model = load_model(base, WeightMode::widened);
  ThreadPool pool(1);
  Lora(*model, folder.adapter).merge(pool);
  if (mode == WeightMode::int8) quantize(*model);
  if (mode == WeightMode::bf16) compute_in_bf16(*model);
  return model;
}

void save_model(Network& model, const formats::ModelFolder& from, const std::filesystem::path& path,
                std::optional<DType> dtype) {
  namespace fs = std::filesystem;
  AtomicFolder whole(path);
  const fs::path& to = whole.temporary();
  std::vector<formats::NamedTensor> tensors = weights_of(model, !dtype);
  for (formats::NamedTensor& item : tensors)
    if (dtype && item.tensor.dtype() == DType::f32 && *dtype != DType::f32)
      item.tensor = item.tensor.to(*dtype);
  formats::write_safetensors(to / "model.safetensors", tensors, {{"format", "pt"}});
  const bool int8 = std::any_of(tensors.begin(), tensors.end(), [](const formats::NamedTensor& item) {
    return item.tensor.dtype() == DType::i8;
  });
  for (const fs::path& folder : {from.tokenizer, from.path})
    for (const auto& item : fs::directory_iterator(folder))
      if (item.is_regular_file() && goes_along(item.path()))
        write_file_atomically(to / item.path().filename(),
                              read_regular_file(item.path(), std::size_t{1} << 30));
  copy_modules(from.path, to);
  Json config = from.config;
  if (set_quantization(config, int8)) write_file_atomically(to / "config.json", config.dump(2) + "\n");
  whole.commit();
}

}  // namespace regard::models
