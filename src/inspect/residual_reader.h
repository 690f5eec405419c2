// Predictions of the next token from the residual stream: after each layer (logit lens), and by component
// (direct logit attribution).
//
// The last layer's residual is replaced by given vectors, and the logits are read from the model's output.
// This works for every model that has probe points, regardless of its norm and output head.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspect/head.h"
#include "inspect/patching.h"
#include "inspect/resolve.h"
#include "inspect/study_data.h"

namespace regard::inspect {

// One cell of the logit lens (nostalgebraist 2020), which applies the final norm and the head to the residual
// after each layer.
struct LensCell {
  std::int64_t layer = 0;  // layer of the residual; −1 for the embedding
  std::int64_t position = 0;
  std::int32_t best = 0;          // id of the most probable token
  double probability = 0;         // probability of the token `best`
  std::int32_t wanted = -1;       // the example's label; kIgnoredLabel if there is none
  double wanted_probability = 0;  // probability of the token `wanted`
  std::int64_t rank = 0;          // rank of the token `wanted`, from 1
};
// Return the cells of the logit lens for one example, ordered by position, then by layer. `edits` are
// interventions of the pass; may be null. Throws usage if the model does not predict the next token, if its
// logits depend on more than the last residual, or if an intervention changes decoder.output. Throws numeric
// if logits are not finite.
std::vector<LensCell> logit_lens(Network& model, ThreadPool& pool, const StudyExample& example,
                                 const EditedPass* edits = nullptr);

// Direct logit attribution (Elhage et al. 2021): the contribution of one component of the last residual to
// logit(answer) − logit(instead), with the scale of the final norm frozen.
struct DirectShare {
  // Name of the component, such as "embedding", a head ("decoder.0.3"), "decoder.0.feed_forward" or
  // "decoder.0.self.bias".
  std::string component;
  std::optional<Head> head;
  double share = 0;  // contribution in logits
};
struct DirectAttribution {
  std::vector<DirectShare> shares;  // contributions in model order; their sum is `difference` − `rest`
  double rest = 0;        // contribution of the biases of the final norm and of the output projection
  double difference = 0;  // logit(answer) − logit(instead) of the model
};
// Return the contribution of each component to the logit difference `answer` at a position of the decoder. If
// answer.instead is −1, its logit counts as 0. `edits` are interventions of the pass; may be null. If an
// intervention changes the output of an attention layer, this layer is one component and is not divided into
// heads. Throws usage if the position or a token does not exist, if the model does not predict the next
// token, if the residual is not the sum of its branches (post-norm), or if an intervention changes the
// decoder's residual or output. Throws numeric if the difference is not finite.
DirectAttribution direct_attribution(Network& model, ThreadPool& pool, const StudyExample& example,
                                     const AnswerDifference& answer, const EditedPass* edits = nullptr);

}  // namespace regard::inspect
