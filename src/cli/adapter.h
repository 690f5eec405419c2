// The option --adapter, for commands that run a model.
#pragma once

#include <string>

#include "cli/verb.h"

namespace regard::cli {

inline void add_adapter(CLI::App& verb, std::string& folder) {
  verb.add_option("--adapter", folder,
                  "LoRA adapter of the model: a folder with adapter_config.json and "
                  "adapter_model.safetensors, as PEFT writes them. Default: the run's adapter, if any");
}

}  // namespace regard::cli
