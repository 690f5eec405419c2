// LoRA adapters (Hu et al. 2021, https://arxiv.org/abs/2106.09685) in PEFT's format, a folder with
// adapter_config.json and adapter_model.safetensors. The update of a module is stored as
// "base_model.model.MODULE.lora_A.weight" [rank, in] and "….lora_B.weight" [out, rank]; biases and saved
// modules are stored in full.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "formats/safetensors.h"
#include "models/lora_config.h"
#include "models/network.h"
#include "nn/low_rank.h"

namespace regard::models {

constexpr const char* kAdapterConfig = "adapter_config.json";
constexpr const char* kAdapterWeights = "adapter_model.safetensors";

// Names of a model's weights: as in its checkpoints, or by its modules in transformers 5. They differ only
// for families with NameRules::modules (ViT, DeiT, AST).
enum class NameStyle { checkpoint, module };

// An adapter of a model. Its updates are computed separately from the model's weights until merge() adds them
// to the weights.
class Lora {
 public:
  // Add a new adapter to the model, which must outlive this object: A is uniform in ±1/√in, drawn from `seed`
  // and the module's name, and B is zero. The targets are names by NameStyle::module or, if none of those
  // matches, by NameStyle::checkpoint. Throws usage if the config is invalid, no module matches the targets
  // or modules_to_save, or a target is an embedding or the output layer.
  Lora(Network& model, const LoraConfig& config, std::uint64_t seed);
  // Load an adapter, with names of either style, from a folder and add it to the model. The ranks are read
  // from the shapes of the tensors. Throws io if a file cannot be read, and bad_file if its content is
  // invalid or a tensor does not match the model. The model is unusable after an error.
  Lora(Network& model, const std::filesystem::path& folder);

  // Return the weights that training changes: the updates, biases, and modules to save.
  std::vector<Parameter*> parameters() const;
  const LoraConfig& config() const { return config_; }

  // Return the contents of adapter_model.safetensors (views) and of adapter_config.json. `task_type` is a
  // task type of PEFT, or empty.
  std::vector<formats::NamedTensor> tensors() const;
  Json config_json(const std::string& task_type) const;

  // Load the adapter's weights from adapter_model.safetensors in `folder`. The file must contain all tensors
  // of this adapter.
  void load(const std::filesystem::path& folder);

  // Add the updates to the model's weights, then remove the updates from this adapter. Throws usage if the
  // model was loaded for inference.
  void merge(ThreadPool& pool);

 private:
  struct Named {
    std::string name;  // name in adapter_model.safetensors
    Parameter* parameter;
  };
  void add_update(Parameter& weight, const std::string& module, std::int64_t rank);
  void add_whole(Parameter& parameter, const std::string& name);
  void add_biases_and_modules();
  bool add_updates(NameStyle style, std::uint64_t seed);
  void read(const formats::SafetensorsFile& file);

  Network* model_;
  LoraConfig config_;
  NameStyle style_ = NameStyle::module;  // style of the names in the adapter's files
  std::vector<Parameter*> adapted_;      // weights of the model that have low-rank updates
  std::vector<Named> updates_, whole_;
};

// Return the full names of model.parameters() in the reference implementation, in the same order. Full names
// include the prefixes that a checkpoint may omit, such as "transformer.".
std::vector<std::string> full_names(Network& model, NameStyle style);

// Return PEFT's task_type for the model's output, or "" if there is none.
std::string peft_task_type(const Network& model);

// Return the names of head modules that training adds to modules_to_save, as in PEFT: "classifier" and
// "score" for sequence and token classification, "qa_outputs" for question answering, otherwise none.
std::vector<std::string> peft_head_modules(const Network& model);

// low_rank_parameters() returns the parameters of all low-rank updates in the model. adapter_name() returns a
// parameter's name in adapter_model.safetensors.
std::vector<Parameter*> low_rank_parameters(Network& model);
std::string adapter_name(const Parameter& parameter);

}  // namespace regard::models
