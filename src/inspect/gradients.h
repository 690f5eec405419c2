// Importance of the input tokens for the answer: gradient × input and integrated gradients of the embedding,
// attention rollout and attention flow.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/edited_pass.h"
#include "inspect/pass_input.h"
#include "inspect/patching.h"

namespace regard::inspect {

// Contribution of each input position to the answer. The positions are those of the encoder, or of a
// decoder-only model.
struct TokenAttribution {
  std::vector<double> gradient_input;  // for each position, Σ over features of gradient × embedding
  // Integrated gradients (Sundararajan et al. 2017) from the baseline to the embedding along a straight
  // line, with Gauss–Legendre quadrature as in captum.
  std::vector<double> integrated;
  // logit difference of the pass with the embedding, and of the pass with the baseline
  double difference = 0, baseline = 0;
  // Σ integrated − (difference − baseline): 0 for an exact integral.
  double completeness_error = 0;
};
struct AttributionOptions {
  std::int64_t steps = 50;
  // Embedding [tokens, hidden] of the baseline, or one row [1, hidden] that is used for every token. If
  // undefined, zeros are used.
  Tensor baseline;
  // Multiply the gradient by embedding − baseline instead of the embedding. If the embedding is an affine
  // function of the pixels (patches), this is the sum over each patch of gradient × pixel.
  bool relative = false;
  // Interventions of every pass, or null. Those on the embedding itself are applied after the interpolation.
  const EditedPass* edits = nullptr;
  BetweenPasses between = {};
};
TokenAttribution attribute_tokens(Network& model, ThreadPool& pool, const PassInput& input,
                                  const AnswerDifference& answer, const AttributionOptions& options = {});

// Return the embedding [positions, hidden] of an image or sound that has the shape of the input and contains
// only zeros.
Tensor blank_embedding(Network& model, ThreadPool& pool, const PassInput& input);

// Nodes and weights of the Gauss–Legendre quadrature on [0, 1]. Throws usage unless the number of nodes is 1
// to 1000.
struct Quadrature {
  std::vector<double> nodes, weights;
};
Quadrature gauss_legendre(std::int64_t count);

// Attention rollout (Abnar and Zuidema 2020) over the self-attention of the encoder, or of a decoder-only
// model: the contribution of each input token to each position's last state, [tokens, tokens] in row order.
// It is the product over the layers of ½ · (attention weights averaged over the heads) + ½ · identity matrix.
// `edits` are interventions of the pass; may be null.
std::vector<double> attention_rollout(Network& model, ThreadPool& pool, const PassInput& input,
                                      const EditedPass* edits = nullptr);
// Attention flow: the maximum flow from the position's last state to each input token. The capacities are the
// matrices ½ · (attention weights averaged over the heads) + ½ · identity of the layers, as in
// attention_rollout(). Throws usage for more than 64 tokens and for a position that does not exist.
std::vector<double> attention_flow(Network& model, ThreadPool& pool, const PassInput& input,
                                   std::int64_t position, const EditedPass* edits = nullptr);

}  // namespace regard::inspect
