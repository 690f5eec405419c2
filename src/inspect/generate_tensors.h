// `regard run --generate`: the sequences that a model generates, as Hugging Face's generate() returns them.
#pragma once

#include "base/thread_pool.h"
#include "infer/search.h"
#include "inspect/padded_side.h"

namespace regard::inspect {

// inputs: input_ids and attention_mask, padded on either side; others are not asked. Gives sequences
// [batch × n_best, length] (i64): the prompt as it came, or the start token, and what was generated, filled
// behind its end; for beams also sequences_scores [batch × n_best]. Throws usage where inputs or options do
// not fit the model.
TensorMap generate_tensors(Network& model, ThreadPool& pool, const TensorMap& inputs,
                           const infer::SearchOptions& options);

}  // namespace regard::inspect
