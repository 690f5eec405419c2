// Configuration of a LoRA adapter, read from and written as PEFT's adapter_config.json.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace regard {

struct LoraConfig {
  std::int64_t rank = 8;
  double alpha = 8.0;
  bool rslora = false;  // scale alpha / √rank instead of alpha / rank
  // Modules to adapt: names, or the last parts of names ("q_proj"). "all-linear": every linear layer except
  // the output layer.
  std::vector<std::string> targets;
  std::string target_pattern;  // used in place of targets: a regular expression for complete names
  std::vector<std::string> exclude;
  // Rank and alpha of modules, by a regular expression for the end of the name.
  std::vector<std::pair<std::string, std::int64_t>> rank_pattern;
  std::vector<std::pair<std::string, double>> alpha_pattern;
  std::vector<std::int64_t> layers;         // numbers of the layers to adapt; empty means all
  std::vector<std::string> layers_pattern;  // names of the lists of layers ("h"); empty means any
  std::string bias = "none";  // biases that are trained too: none, all, lora_only (of adapted modules)
  std::vector<std::string> modules_to_save;  // modules that are trained and saved completely
  std::string base_model;                    // path of the base model; for information only

  // Return true if the module with this full name is adapted. `is_output`: it is the output layer.
  bool adapts(const std::string& module, bool is_output = false) const;
  // Return true if the module is trained and saved completely.
  bool saves(const std::string& module) const;
  std::int64_t rank_of(const std::string& module) const;
  // Return the factor of B A for a module adapted with `rank`.
  double scale_of(const std::string& module, std::int64_t rank) const;

  // Throws bad_file for a missing or wrong value, another method than LoRA, or a form of LoRA that is not
  // supported (DoRA, …).
  static LoraConfig from_json(const Json& json, const std::string& file);
  // transposed: weights of the base model are stored as [in, out] (fan_in_fan_out); task_type: PEFT's, or "".
  Json to_json(bool transposed, const std::string& task_type) const;

  // Throws for values out of range and regular expressions that are not valid: bad_file if they are from
  // `file`, else usage.
  void check(const std::string& file = "") const;
};

}  // namespace regard
