// Views of attention for the inputs of `regard run`: one for each sequence of a batch.
#pragma once

#include <functional>

#include "inspect/attend.h"
#include "inspect/padded_side.h"

namespace regard::inspect {

// Run each sequence of the batch in a forward pass of its own, without its padding, and call `each` with the
// view of its attention, in the order of the batch. The attention weights are bit-identical to those that
// run_tensors() computes, because each token keeps its position id. For a model with two encoders, `each` is
// called for all texts, then for all images. `request` gives the name of the model, the heads to return and
// the interventions. The text of a view is decoded from its tokens; without a tokenizer, or for images and
// sounds, it is the name and index of the input, such as "pixel_values[0]". Throws the errors of
// run_tensors() and attend(); usage if an encoder–decoder gets no decoder_input_ids; invalid_input for a
// sequence without tokens.
void attend_tensors(const infer::LoadedModel& loaded, ThreadPool& pool, const TensorMap& inputs,
                    const AttendRequest& request, const std::function<void(View)>& each);

}  // namespace regard::inspect
