// LoRA adapters (Hu et al. 2021, https://arxiv.org/abs/2106.09685) in PEFT's folders, which contain
// adapter_config.json and adapter_model.safetensors. An update has the tensors
// "base_model.model.MODULE.lora_A.weight" [rank, in] and "….lora_B.weight" [out, rank]. Complete weights
// (biases, modules to save) have their own names. During a pass, the model applies the updates separately.
// merge() adds them to the model's weights.
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

// The two kinds of names of a model's weights: those of its checkpoints, and those of its modules in
// transformers 5, which differ only for families with NameRules::modules (ViT, DeiT, AST).
enum class NameStyle { checkpoint, module };

class Lora {
 public:
  // Add a new adapter to the model. The model must outlive this object. A is uniform in ±1/√in, drawn from
  // `seed` and the module's name; B is zero. Targets are names of modules; if none of them matches, they are
  // names of a checkpoint. Throws usage if the config is invalid, no module matches the
  // targets or modules_to_save, or a target is an embedding or the output layer.
  Lora(Network& model, const LoraConfig& config, std::uint64_t seed);
  // Add the adapter of a folder, with names of either style. Ranks are taken from the tensors' shapes. Throws
  // io if a file cannot be read, and bad_file if its content is invalid or a tensor does not match the model.
  // After an error the model is unusable.
  Lora(Network& model, const std::filesystem::path& folder);

  // Return the weights that training changes: the updates, biases, and modules to save.
  std::vector<Parameter*> parameters() const;
  const LoraConfig& config() const { return config_; }

  // Return the contents of adapter_model.safetensors (views) and of adapter_config.json. `task_type` is a
  // task type of PEFT, or empty.
  std::vector<formats::NamedTensor> tensors() const;
  Json config_json(const std::string& task_type) const;

  // Set the adapter's weights from a folder's adapter_model.safetensors, which must have the same tensors.
  void load(const std::filesystem::path& folder);

  // Add the updates to the model's weights, then discard them; the adapter is empty afterwards. Throws usage
  // if weights are held for inference.
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
  NameStyle style_ = NameStyle::module;  // of the names in the adapter's files
  std::vector<Parameter*> adapted_;      // weights of the model that have low-rank updates
  std::vector<Named> updates_, whole_;
};

// Return each parameter's full name in the reference implementation, in the order of model.parameters(). A
// checkpoint may omit a prefix of it, such as "transformer.".
std::vector<std::string> full_names(Network& model, NameStyle style);

// Return PEFT's task_type for the model's output, or "" if there is none.
std::string peft_task_type(const Network& model);

// Return the names that training adds to modules_to_save, as PEFT does. For sequence and token
// classification: classifier and score, the heads of different families. For question answering: qa_outputs.
// For other outputs: none.
std::vector<std::string> peft_head_modules(const Network& model);

// low_rank_parameters() returns the parameters of all low-rank updates in the model. adapter_name() returns a
// parameter's name in adapter_model.safetensors.
std::vector<Parameter*> low_rank_parameters(Network& model);
std::string adapter_name(const Parameter& parameter);

}  // namespace regard::models
