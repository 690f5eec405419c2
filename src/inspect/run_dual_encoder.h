// `regard run` for a model that compares texts and images; see run_tensors.h.
#pragma once

#include "inspect/run_tensors.h"
#include "models/dual_encoder.h"

namespace regard::inspect {

// Run the model. Inputs: input_ids and attention_mask, or pixel_values, or both. Outputs: text_embeds,
// image_embeds (normalised vectors), logits_per_text, logits_per_image, loss and grad.NAME, and the outputs
// of each encoder with the prefix "text_model_output." or "vision_model_output.": last_hidden_state,
// pooler_output (the vector before normalisation), hidden_states.N, attentions.N. The loss is computed for
// the first n texts and images, where n is the smaller of their numbers.
TensorMap run_dual_encoder(DualEncoder& model, ThreadPool& pool, const TensorMap& inputs,
                           const TensorRunOptions& options);

}  // namespace regard::inspect
