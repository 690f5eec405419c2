// `regard run --generate`: generate sequences and return them like Hugging Face's generate().
#pragma once

#include "base/thread_pool.h"
#include "formats/model_folder.h"
#include "infer/search.h"
#include "inspect/padded_side.h"

namespace regard::inspect {

// Return the search options of the model folder. If they do not limit the number of new tokens, the limit is
// 20, the default of Hugging Face transformers.
infer::SearchOptions tensor_search_options(const formats::ModelFolder& folder);

// Generate from input_ids and attention_mask, padded on either side, or from the images or features that the
// model reads. Other inputs are ignored. Outputs:
//   sequences         [batch × n_best, length] (i64): the unmodified prompt (decoders) or the start token,
//                     the generated tokens, then padding
//   sequences_scores  [batch × n_best], only with beam > 1; −∞ for a missing hypothesis
// Throws invalid_input for missing or invalid inputs, and usage for an encoder and for options that do not
// fit the model.
TensorMap generate_tensors(Network& model, ThreadPool& pool, const TensorMap& inputs,
                           const infer::SearchOptions& options);

}  // namespace regard::inspect
