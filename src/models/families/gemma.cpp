// Gemma (Gemma Team 2024): Llama with scaled embeddings, norms that multiply by 1 + weight, and GELU.
#include "models/families/llama_like.h"

namespace regard::models::families {

Architecture gemma(const ConfigReader& config) {
  config.only("use_bidirectional_attention", false, "Gemma with bidirectional attention");
  LlamaLike what;
  what.name = "Gemma";
  what.kv_heads = 16;
  what.padding = 0;
  what.query_bias = what.key_bias = what.value_bias = what.output_bias = config.flag("attention_bias", false);
  what.gain_offset = 1.0;
  what.scale_embeddings = true;
  what.tied = true;
  what.head_dim = 256;
  // In the published configurations, "gelu" stands for its tanh approximation. As in transformers 5,
  // "hidden_act" is read and "hidden_activation" is ignored.
  what.activation = config.activation("hidden_act", "gelu_pytorch_tanh");
  if (config.word("hidden_act", "") == "gelu") what.activation = kernels::Activation::gelu_tanh;
  return llama_like(config, what);
}

}  // namespace regard::models::families
