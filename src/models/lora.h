// LoRA adapters (Hu et al. 2021, https://arxiv.org/abs/2106.09685) of a model, in PEFT's folders:
// adapter_config.json and adapter_model.safetensors with "base_model.model.MODULE.lora_A.weight" [rank, in],
// "….lora_B.weight" [out, rank], and complete weights (biases, modules to save) under their own names. The
// model applies the updates separately; merge() adds them to its weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "models/lora_config.h"
#include "models/network.h"
#include "nn/low_rank.h"

namespace regard {

constexpr const char* kAdapterConfig = "adapter_config.json";
constexpr const char* kAdapterWeights = "adapter_model.safetensors";

class Lora {
 public:
  // Add a new adapter to the model, which must outlive this object. A is uniform in ±1/√in, drawn from `seed`
  // and the module's name; B is zero. Throws usage if a target matches no module.
  Lora(Network& model, const LoraConfig& config, std::uint64_t seed);
  // Add the adapter of a folder. Ranks are those of the tensors. Throws io, and bad_file if a tensor matches
  // no weight of the model; the model is then unusable.
  Lora(Network& model, const std::filesystem::path& folder);

  // The weights that training changes: updates, biases, modules to save.
  std::vector<Parameter*> parameters() const;
  const LoraConfig& config() const { return config_; }

  // Return the contents of adapter_model.safetensors (views) and adapter_config.json. task_type: PEFT's, or
  // "".
  std::vector<formats::NamedTensor> tensors() const;
  Json config_json(const std::string& task_type) const;

  // Set the adapter's weights from adapter_model.safetensors of a folder; it must have exactly these tensors.
  void load(const std::filesystem::path& folder);

  // Add the updates to the model's weights and discard them: the adapter is then empty. Throws usage if
  // weights are held for inference.
  void merge(ThreadPool& pool);

 private:
  struct Named {
    std::string name;  // in adapter_model.safetensors
    Parameter* parameter;
  };
  void add_update(Parameter& weight, const std::string& module, std::int64_t rank);
  void add_whole(Parameter& parameter, const std::string& name);
  void add_biases_and_modules();
  void read(const formats::SafetensorsFile& file);

  Network* model_;
  LoraConfig config_;
  std::vector<Parameter*> adapted_;  // weights with updates
  std::vector<Named> updates_, whole_;
};

// Return the full name of each parameter in the reference implementation, in the order of
// model.parameters(): checkpoints may omit a prefix ("transformer.").
std::vector<std::string> full_names(Network& model);

// PEFT's task_type for the model's output; "" if there is none.
std::string peft_task_type(const Network& model);

// Return the names of the head's modules, which PEFT always adds to modules_to_save for the model's task.
std::vector<std::string> peft_head_modules(const Network& model);

// Return the parameters of all low-rank updates in the model, and the name of one in
// adapter_model.safetensors.
std::vector<Parameter*> low_rank_parameters(Network& model);
std::string adapter_name(const Parameter& parameter);

}  // namespace regard
