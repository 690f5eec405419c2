// `regard run`: tensors in, tensors out, under Hugging Face's names.
//
// Inputs: input_ids, attention_mask, token_type_ids, position_ids, decoder_input_ids, decoder_attention_mask,
// labels, start_positions, end_positions (integers), pixel_values, loss_weight.OUTPUT (f32). Outputs:
// last_hidden_state, encoder_last_hidden_state, pooler_output, logits, start_logits, end_logits,
// [encoder_|decoder_]hidden_states.N, [encoder_|decoder_|cross_]attentions.N, loss, grad.NAME. Padded places
// are zeros.
#pragma once

#include <set>
#include <string>

#include "base/thread_pool.h"
#include "inspect/padded_side.h"

namespace regard::inspect {

struct TensorRunOptions {
  // Names of outputs, or of their groups: hidden_states, attentions, gradients, all.
  std::set<std::string> capture = {"all"};
  // Padding is computed and shown as PyTorch does, instead of zeros.
  bool compute_padding = false;
};

// The loss is that of the model's head for its labels (cross-entropy, natural log; decoders: of the token
// that follows; for labels that are numbers the squared error of a regression, else binary cross-entropy; see
// transformers' problem_type), or Σ output · loss_weight.output where such weights are given. Throws usage
// where inputs do not fit, or nothing of what was asked for is there.
TensorMap run_tensors(Network& model, ThreadPool& pool, const TensorMap& inputs,
                      const TensorRunOptions& options = {});

}  // namespace regard::inspect
