// Importance of each input token for a prediction: gradient × input, integrated gradients, attention rollout
// and attention flow.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/edited_pass.h"
#include "inspect/pass_input.h"
#include "inspect/patching.h"

namespace regard::inspect {

// Contribution of each input position to the logit difference of an AnswerDifference. The positions are those
// of the encoder or, in a decoder-only model, of the decoder.
struct TokenAttribution {
  std::vector<double> gradient_input;  // for each position, Σ over features of gradient × embedding
  // Integrated gradients (Sundararajan et al. 2017) from the baseline to the embedding along a straight
  // line, with Gauss–Legendre quadrature as in captum.
  std::vector<double> integrated;
  // logit difference of the pass with the embedding, and of the pass with the baseline
  double difference = 0, baseline = 0;
  // Numerical error of the integral: Σ integrated − (difference − baseline).
  double completeness_error = 0;
};
struct AttributionOptions {
  std::int64_t steps = 50;
  // Embedding [tokens, hidden] of the baseline, or one row [1, hidden] that is used for every token. If
  // undefined, zeros are used.
  Tensor baseline;
  // If true, gradient_input is Σ gradient × (embedding − baseline). With blank_embedding() as the baseline,
  // this equals Σ gradient × pixel over the pixels of an image patch.
  bool relative = false;
  // Interventions of every pass, or null. Interventions on the embedding are applied after the interpolation.
  const EditedPass* edits = nullptr;
  BetweenPasses between = {};
};
TokenAttribution attribute_tokens(Network& model, ThreadPool& pool, const PassInput& input,
                                  const AnswerDifference& answer, const AttributionOptions& options = {});

// Return the embedding [positions, hidden] of an image or sound of zeros with the shape of the input.
Tensor blank_embedding(Network& model, ThreadPool& pool, const PassInput& input);

// Nodes and weights of the Gauss–Legendre quadrature on [0, 1]. gauss_legendre() throws usage unless `count`,
// the number of nodes, is 1 to 1000.
struct Quadrature {
  std::vector<double> nodes, weights;
};
Quadrature gauss_legendre(std::int64_t count);

// Return the attention rollout (Abnar and Zuidema 2020) of the encoder, or of a decoder-only model. It is the
// product of one matrix per layer: ½ · (self-attention weights averaged over the heads) + ½ · identity
// matrix. Row i of the result ([tokens, tokens], row-major) contains the contribution of each input token to
// position i of the last layer's output.
std::vector<double> attention_rollout(Network& model, ThreadPool& pool, const PassInput& input,
                                      const EditedPass* edits = nullptr);
// Return the attention flow (Abnar and Zuidema 2020): for each input token, the maximum flow from the token
// to the last layer's output at `position`. The capacities are the matrices of attention_rollout(). Throws
// usage for more than 64 tokens and for a position that does not exist. `between` is called once for each
// input token, before its flow is computed.
std::vector<double> attention_flow(Network& model, ThreadPool& pool, const PassInput& input,
                                   std::int64_t position, const EditedPass* edits = nullptr,
                                   const BetweenPasses& between = {});

}  // namespace regard::inspect
