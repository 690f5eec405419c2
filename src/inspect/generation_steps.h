// What a model would generate at each position of a pass.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "inspect/attention_view.h"
#include "regard/tensor.h"
#include "text/tokenizer.h"

namespace regard::inspect {

// logits [positions, vocabulary], undefined: no steps. `written`: the id that was generated at each position.
// At most 50 candidates for each position, 8 if there are more than 64 positions; equal logits in order of
// id.
std::vector<GenerationStep> generation_steps(const Tensor& logits, std::span<const std::int32_t> written,
                                             const text::Tokenizer& tokenizer);

}  // namespace regard::inspect
