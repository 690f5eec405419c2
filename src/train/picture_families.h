// Configurations of new models that read pictures, and the parts of src/train/new_families.cpp that they
// share.
#pragma once

#include <string>

#include "train/new_families.h"

namespace regard::train {

// Return an activation of [model] under transformers' name.
std::string activation_in_transformers(const std::string& name);
// model.attention_dropout, or `otherwise` if it is not set.
double attention_dropout(const TransformerConfig& sizes, double otherwise);

Json gpt2_config(const NewModel& model);

// Without "architectures".
Json vit_config(const NewModel& model);
Json deit_config(const NewModel& model);
// CLIPModel: both encoders have the sizes of [model], and the vectors its hidden size.
Json clip_config(const NewModel& model);
// VisionEncoderDecoderModel of a ViT and a GPT-2 with cross-attention.
Json vision_encoder_decoder_config(const NewModel& model);

}  // namespace regard::train
