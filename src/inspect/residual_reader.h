// Predictions of the next token from the residual stream: after each layer (logit lens), and by component
// (direct logit attribution).
//
// The last layer's residual is replaced by given vectors, and the logits are read from the model's output. So
// every family with probe points is supported, regardless of its norm and head.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspect/head.h"
#include "inspect/resolve.h"
#include "inspect/study_data.h"

namespace regard::inspect {

// Logit lens (nostalgebraist 2020): the final norm and the head applied to the residual after each layer.
struct LensCell {
  std::int64_t layer = 0;  // −1: the embedding
  std::int64_t position = 0;
  std::int32_t best = 0;          // the most likely token
  double probability = 0;         // of it
  std::int32_t wanted = -1;       // the example's label; kIgnoredLabel: none
  double wanted_probability = 0;  // of it
  std::int64_t rank = 0;          // of it, from 1
};
// Ordered by position, then layer. Throws usage for a model that does not predict the next token.
std::vector<LensCell> logit_lens(Network& model, ThreadPool& pool, const StudyExample& example);

// Direct logit attribution (Elhage et al. 2021): the share of each component of the last residual in
// logit(answer) − logit(instead), with the final norm's scale frozen.
struct DirectShare {
  std::string
      component;  // "embedding", a head ("decoder.0.3"), "decoder.0.feed_forward", "decoder.0.self.bias"
  std::optional<Head> head;
  double share = 0;  // in logits
};
struct DirectAttribution {
  std::vector<DirectShare> shares;  // in the order of the model; they add up to `difference` without `rest`
  double rest = 0;                  // what the final norm's and the head's biases add
  double difference = 0;            // logit(answer) − logit(instead) of the model
};
// `position`: of the decoder. If `instead` is −1, the difference is the answer's logit alone. Throws usage
// for a model whose residual is not the sum of its branches (norms after the sum), and for positions and
// tokens that do not exist.
DirectAttribution direct_attribution(Network& model, ThreadPool& pool, const StudyExample& example,
                                     std::int64_t position, std::int32_t answer, std::int32_t instead = -1);

// The output of each head after the output projection, without its bias: [tokens, hidden] per head. Throws
// usage for a model that normalises the sum of its heads.
std::map<Head, Tensor> head_outputs(Network& model, ThreadPool& pool, const ModelPoints& points,
                                    const PointCapture& pass);

}  // namespace regard::inspect
