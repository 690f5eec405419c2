// What a View shows of a sound: its spectrogram, and bounds on the memory of a long sound's weights.
#pragma once

#include <string>

#include "inspect/attention_view.h"
#include "inspect/capture.h"

namespace regard::inspect {

// The first `seconds` of the spectrogram [frames, bins] for display: at most 600 columns, each the mean of
// the frames that it covers, scaled so that the smallest value is 0 and the largest 1.
Spectrogram display_spectrogram(const Tensor& frames, double frame_seconds, double seconds);

// Restrict `selection` so that the weights of one pass over `input` take at most `numbers` numbers: without
// the encoder's attention for an encoder–decoder, else with as many of the last layers as fit. Nothing
// changes if it names kinds, layers or heads. Returns a sentence that says what is left out, or "". Throws
// invalid_input if the selected weights are still too many. `written`: tokens that an encoder–decoder writes.
std::string limit_weights(Network& model, ThreadPool& pool, const ModelInput& input, std::int64_t written,
                          std::int64_t numbers, Selection& selection);

}  // namespace regard::inspect
