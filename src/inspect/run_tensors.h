// `regard run`: run a model on tensors and return tensors, with Hugging Face's names.
//
// Inputs: input_ids, attention_mask, token_type_ids, position_ids, decoder_input_ids, decoder_attention_mask,
// decoder_position_ids, start_positions, end_positions (integers), labels (integers, or f32 for sequence
// classification), pixel_values, input_features, input_values, loss_weight.OUTPUT (f32).
// Outputs: last_hidden_state, encoder_last_hidden_state, pooler_output, logits, start_logits, end_logits,
// [encoder_|decoder_]hidden_states.N, [encoder_|decoder_|cross_]attentions.N, loss, grad.NAME. Values at
// padded positions are zero. Models that compare texts and images have other outputs: run_dual_encoder.h.
#pragma once

#include <set>
#include <string>

#include "base/thread_pool.h"
#include "inspect/edited_pass.h"
#include "inspect/padded_side.h"

namespace regard::inspect {

struct TensorRunOptions {
  // Names of outputs or of groups: hidden_states, attentions, gradients, all.
  std::set<std::string> capture = {"all"};
  // Compute and return values at padded positions as PyTorch does, instead of zeros.
  bool compute_padding = false;
  const EditedPass* edits = nullptr;  // interventions of the pass; may be null
};

// Run the model and return the outputs selected by `options`. If there are loss_weight.OUTPUT inputs, the
// loss is Σ OUTPUT · loss_weight.OUTPUT. Otherwise, it is the mean loss of the model's head:
//   integer labels           cross-entropy (natural logarithm); for decoders, of the next token
//   CTC labels               CTC loss
//   token flags              binary cross-entropy
//   f32 labels of sequences  squared error or binary cross-entropy, according to transformers' problem_type
// Computing gradients makes all parameters of the model trainable. Throws invalid_input for invalid inputs,
// and usage if no selected output exists.
TensorMap run_tensors(Network& model, ThreadPool& pool, const TensorMap& inputs,
                      const TensorRunOptions& options = {});

}  // namespace regard::inspect
