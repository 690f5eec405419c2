// The tokens that a model would generate at each position of a pass.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "inspect/attention_view.h"
#include "regard/tensor.h"
#include "text/tokenizer.h"

namespace regard::inspect {

// Return one step for each position, or none if logits [positions, vocabulary] is undefined. Candidates with
// equal logits are ordered by id. `written` contains the id that was generated at each position. `tokenizer`
// may be null; tokens are then shown as ids.
std::vector<GenerationStep> generation_steps(const Tensor& logits, std::span<const std::int32_t> written,
                                             const text::Tokenizer* tokenizer);

}  // namespace regard::inspect
