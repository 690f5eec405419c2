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

// Restrict `selection` so that one pass over `input` stores at most `numbers` attention weights. `written` is
// the number of tokens that an encoder–decoder generates. If `selection` names no kinds, layers or heads,
// exclude the encoder's attention (encoder–decoders) or the first layers (other models). Return a sentence
// about the excluded attention, or "" if nothing is excluded. Throws invalid_input if there are still too
// many weights.
std::string limit_weights(Network& model, ThreadPool& pool, const ModelInput& input, std::int64_t written,
                          std::int64_t numbers, Selection& selection);

}  // namespace regard::inspect
