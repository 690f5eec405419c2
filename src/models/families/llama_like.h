// The decoder that Llama made common: RMS norm before each branch, rotary positions, grouped keys and values,
// a gated feed-forward layer. Llama, Qwen, Mistral and Gemma say what is different in theirs.
#pragma once

#include "models/families/families.h"

namespace regard::families {

struct LlamaLike {
  std::string name;  // of the classes: "Llama" for LlamaForCausalLM
  bool query_bias = false, key_bias = false, value_bias = false, output_bias = false, mlp_bias = false;
  bool head_norms = false;  // q_norm and k_norm over each head (Qwen 3)
  kernels::Activation activation = kernels::Activation::silu;
  double gain_offset = 0.0;           // norms multiply by this + weight
  bool scale_embeddings = false;      // by √hidden_size
  bool tied = false;                  // the default of tie_word_embeddings
  std::int64_t head_dim = 0;          // the default; 0: hidden_size / num_attention_heads
  std::vector<std::int64_t> windows;  // of each layer; 0: none; empty: none anywhere
};

Architecture llama_like(const ConfigReader& config, const LlamaLike& what);

// A sliding window: null is none, 0.
std::int64_t window_of(const ConfigReader& config, std::int64_t fallback);

}  // namespace regard::families
