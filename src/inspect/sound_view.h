// The spectrogram of a sound for a View, and a limit on the memory that the attention weights of a long sound
// need.
#pragma once

#include <string>

#include "inspect/attention_view.h"
#include "inspect/capture.h"

namespace regard::inspect {

// Maximum number of attention weights in a view of a sound: 512 MiB.
constexpr std::int64_t kMostSoundWeights = std::int64_t{1} << 27;

// Return the first `seconds` of the spectrogram [frames, bins] for display: at most 600 columns, each the
// mean of the frames that it covers, scaled so that the smallest value is 0 and the largest 1.
Spectrogram display_spectrogram(const Tensor& frames, double frame_seconds, double seconds);

// Restrict `selection` so that one pass over `input` has at most `numbers` attention weights. For an
// encoder–decoder, the encoder's attention is left out. For other models, the last layers that fit are kept.
// A selection that names kinds, layers or heads is not changed. Returns a sentence about what is left out, or
// "". Throws invalid_input if the selected weights are still too many. `written` is the number of tokens that
// an encoder–decoder generates.
std::string limit_weights(Network& model, ThreadPool& pool, const ModelInput& input, std::int64_t written,
                          std::int64_t numbers, Selection& selection);

}  // namespace regard::inspect
