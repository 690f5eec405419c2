// Compute the difference of two logits in a pass, and its gradient with respect to the embedding.
#pragma once

#include <cstdint>

#include "inspect/edited_pass.h"
#include "inspect/pass_input.h"
#include "inspect/patching.h"

namespace regard::inspect {

// Return logit(answer) − logit(instead) of one pass, or logit(answer) if `instead` is −1. Throws usage for
// models without logits of tokens or classes, and for positions, tokens and classes that do not exist.
double answer_difference(Network& model, ThreadPool& pool, const PassInput& input,
                         const AnswerDifference& answer, Probe* probe);

// Throw numeric if `difference`, a result of answer_difference(), is not finite.
void require_finite(double difference);

// Embedding [tokens, hidden] that replaces the value at a probe point: "encoder.embedding" if `stack` is
// "encoder", "decoder.embedding" if it is "decoder".
struct StackInput {
  const char* stack = "encoder";
  const Tensor& embedding;
};
struct AnswerGradient {
  double difference = 0;
  Tensor gradient;  // gradient [tokens, hidden]
};
// Return answer_difference() for the embedding `at`, and the gradient of the difference with respect to `at`.
// The interventions `edits` (may be null) are applied after the embedding is replaced.
AnswerGradient answer_gradient(Network& model, ThreadPool& pool, const PassInput& input,
                               const AnswerDifference& answer, const StackInput& at,
                               const EditedPass* edits = nullptr);

}  // namespace regard::inspect
