// Views of attention for the inputs of `regard run`: one for each sequence of a batch.
#pragma once

#include <functional>

#include "inspect/attend.h"
#include "inspect/padded_side.h"

namespace regard::inspect {

// Run each sequence of the inputs in a pass of its own, without its padding, and call `each` with the View,
// in the order of the batch. Position ids are those of the batch, so the weights have the bits of
// run_tensors(). An encoder–decoder needs decoder_input_ids. Of a model with two encoders, the texts come
// first, then the images. `request` gives the model's name, the selection and the changes. The text of a view
// is that of the tokens or, if no tokenizer is loaded or the input is not text, the name of the input, as in
// "pixel_values[0]". Throws as run_tensors() and attend() do, and invalid_input for a sequence without
// tokens.
void attend_tensors(const infer::LoadedModel& loaded, ThreadPool& pool, const TensorMap& inputs,
                    const AttendRequest& request, const std::function<void(View)>& each);

}  // namespace regard::inspect
