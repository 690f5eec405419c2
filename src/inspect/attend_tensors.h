// Views of attention for the inputs of `regard run`: one for each sequence of a batch.
#pragma once

#include <functional>

#include "inspect/attend.h"
#include "inspect/padded_side.h"

namespace regard::inspect {

// Run each sequence of the batch in a separate forward pass without padding, and call `each` with its view.
// The views are in the order of the batch; for a dual encoder, all texts come first, then all images. The
// attention weights are bit-identical to the results of run_tensors(). `request` contains the model name, the
// selected heads and the interventions. Throws the errors of run_tensors() and attend(), usage if an
// encoder–decoder has no decoder_input_ids, and invalid_input for a sequence without tokens.
void attend_tensors(const infer::LoadedModel& loaded, ThreadPool& pool, const TensorMap& inputs,
                    const AttendRequest& request, const std::function<void(View)>& each);

}  // namespace regard::inspect
