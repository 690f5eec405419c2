// Llama (Touvron et al. 2023), Llama 2 and Llama 3.
#include "models/families/llama_like.h"

namespace regard::models::families {

Architecture llama(const ConfigReader& config) {
  LlamaLike what;
  what.name = "Llama";
  what.query_bias = what.key_bias = what.value_bias = what.output_bias = config.flag("attention_bias", false);
  what.mlp_bias = config.flag("mlp_bias", false);
  what.activation = config.activation("hidden_act", "silu");
  if (config.has("sliding_window")) window_of(config, 0);  // check the value; Llama does not use it
  return llama_like(config, what);
}

}  // namespace regard::models::families
