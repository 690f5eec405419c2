// Configurations of new models that read sound, from the sizes in [model] and [sound].
#pragma once

#include "train/new_families.h"

namespace regard::train {

constexpr std::int64_t kMelFramesPerSecond = 100;  // frames of log-mel features per second

// configuration of an Audio Spectrogram Transformer, without "architectures"
Json audio_spectrogram_transformer_config(const NewModel& model);
Json wav2vec2_config(const NewModel& model);  // configuration of Wav2Vec2ForCTC; the blank is token 0
Json whisper_config(const NewModel& model);   // configuration of WhisperForConditionalGeneration
// Initialise the weight normalisation of the positional convolution: set each scale to the norm of its
// weights, as torch.nn.utils.parametrizations.weight_norm does.
void initialise_wav2vec2(Network& model);
// Set the encoder's position embeddings, which are not trained, to the sinusoids of modeling_whisper.py.
void initialise_whisper(Network& model);

}  // namespace regard::train
