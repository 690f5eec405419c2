// The decoder architecture of Llama: RMS norm before each branch, rotary positions, grouped-query attention
// and a gated feed-forward layer. Llama, Qwen, Mistral and Gemma are described by the values of LlamaLike.
#pragma once

#include "base/namespaces.h"
#include "models/families/families.h"

namespace regard::models::families {

struct LlamaLike {
  std::string name;  // prefix of the class names, such as "Llama" of LlamaForCausalLM
  bool query_bias = false, key_bias = false, value_bias = false, output_bias = false, mlp_bias = false;
  bool head_norms = false;  // norms q_norm and k_norm over each head (Qwen 3)
  kernels::Activation activation = kernels::Activation::silu;
  double gain_offset = 0.0;       // norms multiply by gain_offset + weight
  bool scale_embeddings = false;  // multiply the embeddings by √hidden_size
  bool tied = false;              // default value of tie_word_embeddings
  std::int64_t head_dim = 0;      // default value of head_dim; 0 means hidden_size / num_attention_heads
  std::int64_t kv_heads = 0;      // default value of num_key_value_heads; 0 means num_attention_heads
  std::int64_t padding = -1;      // default value of pad_token_id; −1 means none
  // sliding window per layer in tokens, 0 if a layer has none; empty if no layer has one
  std::vector<std::int64_t> windows;
};

Architecture llama_like(const ConfigReader& config, const LlamaLike& what);

// Return "sliding_window" in tokens: 0 (no window) if the key is null, `fallback` if it is absent.
std::int64_t window_of(const ConfigReader& config, std::int64_t fallback);

}  // namespace regard::models::families
