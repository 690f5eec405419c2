// The spectrogram of a sound for display, and a limit on the memory for the attention weights of a long
// sound.
#pragma once

#include <string>

#include "inspect/attention_view.h"
#include "inspect/capture.h"

namespace regard::inspect {

// Maximum number of attention weights in a view of a sound: 512 MiB.
constexpr std::int64_t kMostSoundWeights = std::int64_t{1} << 27;

// Return the first `seconds` of the spectrogram `frames` [frames, bins] for display. Consecutive frames are
// averaged into at most 600 columns, and the values are scaled so that the smallest is 0 and the largest 1.
Spectrogram display_spectrogram(const Tensor& frames, double frame_seconds, double seconds);

// If `selection` names no kinds, layers or heads, restrict it so that one pass over `input` has at most
// `numbers` attention weights: exclude the encoder's attention of an encoder–decoder, which generates
// `written` tokens, or the first layers of any other model. Return a sentence that says what is excluded, or
// "" if nothing is. Throws invalid_input if the selected weights are still too many.
std::string limit_weights(Network& model, ThreadPool& pool, const ModelInput& input, std::int64_t written,
                          std::int64_t numbers, Selection& selection);

}  // namespace regard::inspect
