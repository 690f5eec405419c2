// The tokens that a model would generate at each position of a pass.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "inspect/attention_view.h"
#include "regard/tensor.h"
#include "text/tokenizer.h"

namespace regard::inspect {

// Return one step for each position; none if logits [positions, vocabulary] is undefined. `written` holds the
// id that was generated at each position. A step has at most 50 candidates, or 8 if there are more than 64
// positions. Equal logits are ordered by id. `tokenizer` may be null (shown_token in shown_tokens.h).
std::vector<GenerationStep> generation_steps(const Tensor& logits, std::span<const std::int32_t> written,
                                             const text::Tokenizer* tokenizer);

}  // namespace regard::inspect
