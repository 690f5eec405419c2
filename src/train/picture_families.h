// Configurations of new models that read images, and helper functions that src/train/new_families.cpp also
// uses.
#pragma once

#include <string>

#include "train/new_families.h"

namespace regard::train {

// Convert the name of an activation in [model] to the name in transformers.
std::string activation_in_transformers(const std::string& name);
// Return model.attention_dropout, or `otherwise` if it is not set.
double attention_dropout(const TransformerConfig& sizes, double otherwise);

// Add the keys hidden_size, num_hidden_layers, num_attention_heads, intermediate_size and hidden_act.
void add_sizes(const TransformerConfig& sizes, std::int64_t layers, Json& config);
// Add the keys hidden_dropout_prob and attention_probs_dropout_prob.
void add_dropout(const TransformerConfig& sizes, Json& config);

Json gpt2_config(const NewModel& model);

// Return the configuration of a ViT or a DeiT, without the key "architectures".
Json vit_config(const NewModel& model);
Json deit_config(const NewModel& model);
// Return the configuration of a CLIPModel. Both encoders have the sizes in [model], and projection_dim is the
// hidden size.
Json clip_config(const NewModel& model);
// Return the configuration of a VisionEncoderDecoderModel: a ViT and a GPT-2 with cross-attention.
Json vision_encoder_decoder_config(const NewModel& model);

}  // namespace regard::train
