// Mistral (Jiang et al. 2023): Llama with a sliding window in every layer.
#include "models/families/llama_like.h"

namespace regard::models::families {

Architecture mistral(const ConfigReader& config) {
  LlamaLike what;
  what.name = "Mistral";
  what.kv_heads = 8;
  what.activation = config.activation("hidden_act", "silu");
  what.windows.assign(static_cast<std::size_t>(config.layers("num_hidden_layers")), window_of(config, 4096));
  return llama_like(config, what);
}

}  // namespace regard::models::families
