// Qwen 2 (Yang et al. 2024): Llama with biases for query, key and value. Qwen 3 (Yang et al. 2025) has norms
// over each head's query and key instead of these biases.
#include <array>

#include "models/families/llama_like.h"

namespace regard::models::families {
namespace {

// Return the sliding window of each layer; 0 if it has none. If use_sliding_window is set, layer_types states
// which layers have a window; without layer_types, every layer with an index of at least max_window_layers
// has a window.
std::vector<std::int64_t> windows_of(const ConfigReader& config) {
  const std::int64_t layers = config.layers("num_hidden_layers");
  const std::int64_t window = window_of(config, 4096);
  std::vector<std::int64_t> windows(static_cast<std::size_t>(layers), 0);
  const bool used = config.flag("use_sliding_window", false) && window > 0;
  if (config.has("layer_types")) {
    const auto types = require<std::vector<std::string>>(config.json(), "layer_types", config.file());
    if (types.size() != windows.size())
      throw config.wrong("layer_types", "one type for each of " + std::to_string(layers) + " layers");
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (types[i] == "sliding_attention" && used)
        windows[i] = window;
      else if (types[i] != "full_attention")
        throw config.wrong("layer_types", "full_attention, or sliding_attention with use_sliding_window");
    }
    return windows;
  }
  const auto first = optional_value<std::int64_t>(config.json(), "max_window_layers", config.file());
  for (std::int64_t i = std::max<std::int64_t>(first.value_or(28), 0); used && i < layers; ++i)
    windows[static_cast<std::size_t>(i)] = window;
  return windows;
}

}  // namespace

Architecture qwen2(const ConfigReader& config) {
  LlamaLike what;
  what.name = "Qwen2";
  what.kv_heads = 32;
  what.query_bias = what.key_bias = what.value_bias = true;
  what.activation = config.activation("hidden_act", "silu");
  what.windows = windows_of(config);
  return llama_like(config, what);
}

Architecture qwen3(const ConfigReader& config) {
  LlamaLike what;
  what.name = "Qwen3";
  what.kv_heads = 32;
  what.query_bias = what.key_bias = what.value_bias = what.output_bias = config.flag("attention_bias", false);
  what.head_norms = true;
  what.head_dim = 128;
  what.activation = config.activation("hidden_act", "silu");
  what.windows = windows_of(config);
  return llama_like(config, what);
}

}  // namespace regard::models::families
