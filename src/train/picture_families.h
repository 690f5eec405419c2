// Configurations of new models that read pictures, and functions that they share with
// src/train/new_families.cpp.
#pragma once

#include <string>

#include "train/new_families.h"

namespace regard::train {

// Convert the name of an activation in [model] to transformers' name.
std::string activation_in_transformers(const std::string& name);
// Return model.attention_dropout, or `otherwise` if it is not set.
double attention_dropout(const TransformerConfig& sizes, double otherwise);

Json gpt2_config(const NewModel& model);

// The result has no "architectures".
Json vit_config(const NewModel& model);
Json deit_config(const NewModel& model);
// Configuration of a CLIPModel: both encoders have the sizes of [model], and the vectors have its hidden
// size.
Json clip_config(const NewModel& model);
// Configuration of a VisionEncoderDecoderModel: a ViT, and a GPT-2 with cross-attention.
Json vision_encoder_decoder_config(const NewModel& model);

}  // namespace regard::train
