// The keys of [lora] in a run file: training of a LoRA adapter instead of the whole model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/lora_config.h"
#include "train/field.h"

namespace regard::train {

struct LoraKeys {
  std::int64_t rank = 0;  // rank of the adapter; 0 means no adapter
  // The adapter's scale is alpha / rank, or alpha / √rank with rslora. Default: 0, which means alpha = rank.
  double alpha = 0.0;
  std::vector<std::string> targets{"all-linear"};
  bool rslora = false;
  // ranks and alphas for some weights; each element is "PATTERN=NUMBER"
  std::vector<std::string> rank_pattern, alpha_pattern;
  std::vector<double> layers;
  std::vector<std::string> layers_pattern;
  std::string bias = "none";
  std::vector<std::string> modules_to_save;

  bool used() const { return rank > 0; }
};

// Append the run file's fields of [lora] to `list`. Each field refers to the member of `keys` that holds its
// value.
void add_lora_fields(std::vector<Field>& list, LoraKeys& keys);

// Return the configuration of the adapter; `base_model` is the path of the base model that
// adapter_config.json will contain. Throws usage, naming the key, if a value is invalid.
LoraConfig lora_config(const LoraKeys& keys, const std::string& base_model);

}  // namespace regard::train
