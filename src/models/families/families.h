// The model families whose checkpoints regard reads: one function for each, which converts config.json to an
// Architecture or a DualEncoderConfig. docs/adding-a-family.md explains how to add a family.
#pragma once

#include <string>
#include <vector>

#include "base/namespaces.h"
#include "models/architecture.h"
#include "models/dual_encoder.h"
#include "models/families/config_reader.h"

namespace regard::models::families {

Architecture audio_spectrogram_transformer(const ConfigReader& config);
Architecture bart(const ConfigReader& config);
Architecture bert(const ConfigReader& config);
Architecture blenderbot(const ConfigReader& config);
Architecture deit(const ConfigReader& config);
Architecture distilbert(const ConfigReader& config);
Architecture electra(const ConfigReader& config);
Architecture gemma(const ConfigReader& config);
Architecture gpt2(const ConfigReader& config);
Architecture llama(const ConfigReader& config);
Architecture marian(const ConfigReader& config);
Architecture mistral(const ConfigReader& config);
Architecture mpnet(const ConfigReader& config);
Architecture pegasus(const ConfigReader& config);
Architecture qwen2(const ConfigReader& config);
Architecture qwen3(const ConfigReader& config);
Architecture roberta(const ConfigReader& config);
Architecture t5(const ConfigReader& config);
Architecture vision_encoder_decoder(const ConfigReader& config);
Architecture vit(const ConfigReader& config);
Architecture wav2vec2(const ConfigReader& config);
Architecture whisper(const ConfigReader& config);

DualEncoderConfig clip(const ConfigReader& config);
DualEncoderConfig siglip(const ConfigReader& config);

// Convert a configuration to an Architecture. "model_type" names the family, which must not be a dual
// encoder. Throws bad_file, naming the file and the key; for an unknown family, the error also lists the
// known families and the nearest name.
Architecture read(const Json& config, const std::string& file);

// Build the network of any family, without weights. Throws the same errors as read().
std::unique_ptr<Network> build(const Json& config, const std::string& file);

std::vector<std::string> names();  // return the supported values of model_type

}  // namespace regard::models::families
