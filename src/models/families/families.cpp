#include "models/families/families.h"

#include <algorithm>
#include <utility>

#include "base/nearest.h"

namespace regard::models::families {
namespace {

using Reader = Architecture (*)(const ConfigReader&);

constexpr std::pair<const char*, Reader> kFamilies[] = {
    {"audio-spectrogram-transformer", audio_spectrogram_transformer},
    {"bart", bart},
    {"bert", bert},
    {"blenderbot", blenderbot},
    {"deit", deit},
    {"distilbert", distilbert},
    {"electra", electra},
    {"gemma", gemma},
    {"gpt2", gpt2},
    {"llama", llama},
    {"marian", marian},
    {"mistral", mistral},
    {"mpnet", mpnet},
    {"pegasus", pegasus},
    {"qwen2", qwen2},
    {"qwen3", qwen3},
    {"roberta", roberta},
    {"t5", t5},
    {"vision-encoder-decoder", vision_encoder_decoder},
    {"vit", vit},
    {"wav2vec2", wav2vec2},
    {"whisper", whisper},
    {"xlm-roberta", roberta},
};

constexpr std::pair<const char*, DualEncoderConfig (*)(const ConfigReader&)> kDualEncoders[] = {
    {"clip", clip},
    {"siglip", siglip},
};

}  // namespace

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, reader] : kFamilies) all.emplace_back(name);
  for (const auto& [name, reader] : kDualEncoders) all.emplace_back(name);
  std::sort(all.begin(), all.end());
  return all;
}

Architecture read(const Json& config, const std::string& file) {
  const auto type = require<std::string>(config, "model_type", file);
  const ConfigReader reader(config, file);
  for (const auto& [name, family] : kFamilies) {
    if (type != name) continue;
    Architecture architecture = family(reader);
    architecture.config = config;
    return architecture;
  }
  std::string all;
  for (const std::string& name : names()) all += name + ", ";
  Error error = file_error(file, "unsupported model family")
                    .found("model_type \"" + type + "\"")
                    .expected(all + "or a type of regard's own, such as regard-transformer");
  const std::vector<std::string> known = names();
  if (const std::string_view near = nearest(type, known); !near.empty())
    error.remedy("The nearest name is \"" + std::string(near) + "\": use it only if model_type is misspelt");
  throw error;
}

std::unique_ptr<Network> build(const Json& config, const std::string& file) {
  const auto type = require<std::string>(config, "model_type", file);
  for (const auto& [name, family] : kDualEncoders)
    if (type == name) return std::make_unique<DualEncoder>(family(ConfigReader(config, file)));
  return make_network(read(config, file));
}

}  // namespace regard::models::families
