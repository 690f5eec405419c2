// Which input tokens the answer depends on: gradient × input and integrated gradients of the embedding, and
// attention rollout and flow.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/pass_input.h"
#include "inspect/patching.h"

namespace regard::inspect {

// Attribution of the answer to each input token: of the encoder, or of a decoder-only model.
struct TokenAttribution {
  std::vector<double> gradient_input;  // Σ over features of gradient × embedding
  // Sundararajan et al. 2017, from the baseline to the embedding along a straight line, with Gauss–Legendre
  // quadrature as in captum.
  std::vector<double> integrated;
  double difference = 0, baseline = 0;  // the measured difference with the embedding and with the baseline
  // Σ integrated − (difference − baseline): 0 for an exact integral.
  double completeness_error = 0;
};
struct AttributionOptions {
  std::int64_t steps = 50;
  // Embedding [tokens, hidden] of the baseline, or [1, hidden] for every token. Undefined: zeros.
  Tensor baseline;
};
TokenAttribution attribute_tokens(Network& model, ThreadPool& pool, const PassInput& input,
                                  const AnswerDifference& answer, const AttributionOptions& options = {});

// Nodes and weights of the Gauss–Legendre quadrature on [0, 1]. Throws usage for fewer than 1 or more than
// 1000.
struct Quadrature {
  std::vector<double> nodes, weights;
};
Quadrature gauss_legendre(std::int64_t count);

// Abnar and Zuidema 2020, over the self-attention of the encoder, or of a decoder-only model: how much of
// each position's last state comes from each input token, [tokens, tokens] row by row. Rollout: the product
// over the layers of ½ (mean of the heads) + ½ I.
std::vector<double> attention_rollout(Network& model, ThreadPool& pool, const PassInput& input);
// Flow: the largest flow from the position's last state to each input token, where the same matrices are the
// capacities. Throws usage for more than 64 tokens.
std::vector<double> attention_flow(Network& model, ThreadPool& pool, const PassInput& input,
                                   std::int64_t position);

}  // namespace regard::inspect
