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

// An alternative name of a key in config.json, from attribute_map of transformers' configuration classes.
struct Alias {
  const char *family, *alias, *key;
};

constexpr Alias kAliases[] = {
    {"bart", "hidden_size", "d_model"},
    {"bart", "num_attention_heads", "encoder_attention_heads"},
    {"bart", "num_hidden_layers", "encoder_layers"},
    {"distilbert", "hidden_size", "dim"},
    {"distilbert", "num_attention_heads", "n_heads"},
    {"distilbert", "num_hidden_layers", "n_layers"},
    {"gpt2", "hidden_size", "n_embd"},
    {"gpt2", "max_position_embeddings", "n_positions"},
    {"gpt2", "num_attention_heads", "n_head"},
    {"gpt2", "num_hidden_layers", "n_layer"},
    {"t5", "head_dim", "d_kv"},
    {"t5", "hidden_size", "d_model"},
    {"t5", "num_attention_heads", "num_heads"},
    {"t5", "num_hidden_layers", "num_layers"},
    {"trocr", "hidden_size", "d_model"},
    {"trocr", "num_attention_heads", "decoder_attention_heads"},
    {"trocr", "num_hidden_layers", "decoder_layers"},
    {"whisper", "num_key_value_heads", "encoder_attention_heads"},
};

// Families that also have the alternative keys of BART.
constexpr const char* kBartKeys[] = {"blenderbot", "marian", "mbart", "pegasus", "whisper"};

// Return a copy of `config` in which the value of each alternative key is stored under the key that the
// family reads. If both keys are present, the alternative key takes precedence, as in transformers. The
// configuration of a decoder within `config` is changed in the same way.
Json resolve_aliases(Json config) {
  if (!config.is_object()) return config;
  const Json family = config.value("model_type", Json());
  const bool as_bart = std::find(std::begin(kBartKeys), std::end(kBartKeys), family) != std::end(kBartKeys);
  for (const Alias& alias : kAliases) {
    if (family != alias.family && !(as_bart && std::string_view(alias.family) == "bart")) continue;
    const Json value = config.value(alias.alias, Json());
    if (!value.is_null()) config[alias.key] = value;
  }
  if (const auto decoder = config.find("decoder"); decoder != config.end())
    *decoder = resolve_aliases(*decoder);
  return config;
}

// If the configuration has tie_last_hidden_states, use its value instead of the family's rule for the last
// entry of hidden_states.
void set_last_state(const ConfigReader& config, Architecture& architecture) {
  for (std::optional<StackConfig>* stack : {&architecture.encoder, &architecture.decoder})
    if (*stack)
      (*stack)->last_state_is_normed = config.flag("tie_last_hidden_states", (*stack)->last_state_is_normed);
}

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
  const Json resolved = resolve_aliases(config);
  const ConfigReader reader(resolved, file);
  for (const auto& [name, family] : kFamilies) {
    if (type != name) continue;
    Architecture architecture = family(reader);
    set_last_state(reader, architecture);
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
