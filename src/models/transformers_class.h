// Convert a regard Transformer (transformer.h) to the equivalent class of Hugging Face transformers: choose
// the class, and return its config.json and tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "base/namespaces.h"
#include "formats/safetensors.h"
#include "models/transformer.h"

namespace regard::models {

enum class TransformersClass {
  marian,      // MarianMTModel: post-norm, sinusoidal positions, shared or separate vocabularies
  pegasus,     // PegasusForConditionalGeneration: pre-norm, sinusoidal positions
  blenderbot,  // BlenderbotForConditionalGeneration: pre-norm; learned or no positions
  gpt2,        // GPT2LMHeadModel: decoder, layer norm, any positions except rotary
  llama,       // LlamaForCausalLM: decoder, RMS norm, rotary positions
};

// Choose the class. If no class supports the value of a key of the run file, throws usage with the key and
// its supported values.
TransformersClass transformers_class_of(const TransformerConfig& config);

// Return the maximum sequence length of the converted model, in tokens: max_positions or, if that is 0, 32768
// for rotary and 1024 for other positions.
std::int64_t transformers_positions(const TransformerConfig& config);

// Return the config.json of the transformers class. Throws the same errors as transformers_class_of().
Json transformers_config(const TransformerConfig& config);

// Return the weights of `model`, which was built from `config`, with the tensor names and layouts of the
// class. Weights are reordered, repeated, padded with zeros or multiplied by a constant where the class
// requires it; the converted model computes the same function.
std::vector<formats::NamedTensor> transformers_weights(Network& model, const TransformerConfig& config);

}  // namespace regard::models
