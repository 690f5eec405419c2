// Configuration of a LoRA adapter, read from and written as PEFT's adapter_config.json.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/namespaces.h"

namespace regard::models {

struct LoraConfig {
  std::int64_t rank = 8;
  double alpha = 8.0;
  bool rslora = false;  // true: scale the update by alpha / √rank instead of alpha / rank
  // Modules to adapt, by full name or by the last parts of the name ("q_proj", "self_attn.q_proj").
  // "all-linear" means every linear layer except the output layer.
  std::vector<std::string> targets;
  std::string target_pattern;        // regular expression for complete module names; replaces `targets`
  std::vector<std::string> exclude;  // modules that are not adapted, named as in `targets`
  std::string exclude_pattern;       // regular expression for complete names of modules that are not adapted
  // Rank and alpha of individual modules. Key: a regular expression for the end of the name.
  std::vector<std::pair<std::string, std::int64_t>> rank_pattern;
  std::vector<std::pair<std::string, double>> alpha_pattern;
  std::vector<std::int64_t> layers;  // indices of the layers to adapt; empty means all
  // names of modules that contain the layers, such as "h"; empty means any
  std::vector<std::string> layers_pattern;
  // biases that are also trained: none, all, or lora_only (biases of adapted modules)
  std::string bias = "none";
  std::vector<std::string> modules_to_save;  // modules that are trained and saved completely
  std::string base_model;                    // path of the base model, for information only
  std::string file;                          // adapter_config.json, for messages; may be empty

  // Return true if the module with this full name is adapted. `is_output` is true for the output layer.
  bool adapts(const std::string& module, bool is_output = false) const;
  // Return true if the module is trained and saved completely.
  bool saves(const std::string& module) const;
  std::int64_t rank_of(const std::string& module) const;
  // Return the factor of the update B A for a module that is adapted with `rank`.
  double scale_of(const std::string& module, std::int64_t rank) const;

  // Parse adapter_config.json. Throws bad_file for a missing or wrong value, for a method other than LoRA,
  // and for an unsupported variant of LoRA (DoRA, …).
  static LoraConfig from_json(const Json& json, const std::string& file);
  // Return the content of adapter_config.json. `transposed` is true if the base model stores weights as [in,
  // out] (fan_in_fan_out); `task_type` is a task type of PEFT, or empty.
  Json to_json(bool transposed, const std::string& task_type) const;

  // Throw if a value is out of range or a regular expression is invalid: bad_file if the file is known, else
  // usage. A regular expression whose matching takes too long is refused with the same kinds by adapts(),
  // rank_of() and scale_of().
  void check() const;
};

}  // namespace regard::models
