// A Transformer of ours (transformer.h) as the class of Hugging Face's transformers that computes the same:
// which class that is, its config.json and its tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/safetensors.h"
#include "models/transformer.h"

namespace regard {

enum class TransformersClass {
  marian,      // MarianMTModel: post-norm, sinusoidal positions, one vocabulary or two
  pegasus,     // PegasusForConditionalGeneration: pre-norm, sinusoidal positions
  blenderbot,  // BlenderbotForConditionalGeneration: pre-norm, learned positions or none
  gpt2,        // GPT2LMHeadModel: decoder, layer norm, any positions but rotary
  llama,       // LlamaForCausalLM: decoder, RMS norm, rotary positions
};

// Throws usage naming the key of the run file that no class has, and what would fit.
TransformersClass transformers_class_of(const TransformerConfig& config);

// The longest sequence of the converted model: max_positions, or a number large enough where the run has no
// limit.
std::int64_t transformers_positions(const TransformerConfig& config);

// config.json. Throws as transformers_class_of() does.
Json transformers_config(const TransformerConfig& config);

// The tensors under the names and in the layouts of the class. `model` was made from `config`. Equal results
// need no equal weights: hidden units are reordered where the class orders its sinusoids otherwise, shared
// keys and values are repeated, missing biases are zeros, and a factor of the embeddings is multiplied into
// them where the class has none.
std::vector<formats::NamedTensor> transformers_weights(Network& model, const TransformerConfig& config);

}  // namespace regard
