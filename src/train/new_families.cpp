#include "train/new_families.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/parameter.h"
#include "train/picture_families.h"
#include "train/sound_families.h"

namespace regard::train {

std::string activation_in_transformers(const std::string& name) {
  return name == "gelu_tanh" ? "gelu_new" : name;
}

double attention_dropout(const TransformerConfig& sizes, double otherwise) {
  return sizes.attention_dropout < 0.0 ? otherwise : sizes.attention_dropout;
}

void add_sizes(const TransformerConfig& sizes, std::int64_t layers, Json& config) {
  config["hidden_size"] = sizes.hidden_size;
  config["num_hidden_layers"] = layers;
  config["num_attention_heads"] = sizes.heads;
  config["intermediate_size"] = sizes.feed_forward_size;
  config["hidden_act"] = activation_in_transformers(sizes.activation);
}

void add_dropout(const TransformerConfig& sizes, Json& config) {
  config["hidden_dropout_prob"] = sizes.dropout;
  config["attention_probs_dropout_prob"] = attention_dropout(sizes, sizes.dropout);
}

namespace {

// Add the ids of special tokens to a configuration; a token that the vocabulary lacks becomes null.
void add_special(const SpecialIds& special, Json& config) {
  for (const auto& [key, id] :
       {std::pair("pad_token_id", special.pad), std::pair("bos_token_id", special.begin),
        std::pair("eos_token_id", special.end)})
    config[key] = id >= 0 ? Json(id) : Json();
}

std::int64_t positions_of(const NewModel& model) {
  return model.sizes.max_positions == 0 ? model.positions : model.sizes.max_positions;
}

Json bert_like(const NewModel& model, const char* family) {
  Json config{{"model_type", family}, {"vocab_size", model.vocabulary}};
  add_sizes(model.sizes, model.sizes.layers, config);
  add_dropout(model.sizes, config);
  config.update(Json{{"max_position_embeddings", positions_of(model)},
                     {"type_vocab_size", 2},
                     {"initializer_range", 0.02},
                     {"layer_norm_eps", 1e-12}});
  // null means that there is no padding token; if the key is absent, transformers uses 0
  config["pad_token_id"] = model.special.pad >= 0 ? Json(model.special.pad) : Json();
  return config;
}

Json bert(const NewModel& model) {
  return bert_like(model, "bert");
}

Json electra(const NewModel& model) {
  Json config = bert_like(model, "electra");
  config["embedding_size"] = model.sizes.hidden_size;
  return config;
}

// RoBERTa counts positions from pad_token_id + 1.
Json roberta(const NewModel& model) {
  Json config = bert_like(model, "roberta");
  config["layer_norm_eps"] = 1e-5;
  config["pad_token_id"] = std::max(model.special.pad, 0);
  config["max_position_embeddings"] = positions_of(model) + std::max(model.special.pad, 0) + 1;
  return config;
}

Json llama_like(const NewModel& model, const char* family, const char* architecture) {
  const TransformerConfig& sizes = model.sizes;
  Json config{{"model_type", family},
              {"architectures", {architecture}},
              {"vocab_size", model.vocabulary},
              {"hidden_size", sizes.hidden_size},
              {"num_hidden_layers", sizes.layers},
              {"num_attention_heads", sizes.heads},
              {"num_key_value_heads", sizes.kv_heads == 0 ? sizes.heads : sizes.kv_heads},
              {"intermediate_size", sizes.feed_forward_size},
              {"hidden_act", "silu"},
              {"attention_dropout", attention_dropout(sizes, 0.0)},
              {"max_position_embeddings", positions_of(model)},
              {"rms_norm_eps", sizes.norm_epsilon},
              {"rope_theta", sizes.rotary_base},
              {"initializer_range", 0.02},
              {"tie_word_embeddings", sizes.tie_embeddings != "none"}};
  if (sizes.head_size > 0) config["head_dim"] = sizes.head_size;
  add_special(model.special, config);
  return config;
}

Json llama(const NewModel& model) {
  return llama_like(model, "llama", "LlamaForCausalLM");
}

Json mistral(const NewModel& model) {
  Json config = llama_like(model, "mistral", "MistralForCausalLM");
  config["sliding_window"] = nullptr;
  return config;
}

Json qwen2(const NewModel& model) {
  return llama_like(model, "qwen2", "Qwen2ForCausalLM");
}

Json t5(const NewModel& model) {
  const TransformerConfig& sizes = model.sizes;
  Json config{{"model_type", "t5"},
              {"architectures", {"T5ForConditionalGeneration"}},
              {"vocab_size", model.vocabulary},
              {"d_model", sizes.hidden_size},
              {"d_kv", sizes.head_size > 0 ? sizes.head_size : sizes.hidden_size / sizes.heads},
              {"d_ff", sizes.feed_forward_size},
              {"num_layers", sizes.encoder_layers},
              {"num_decoder_layers", sizes.decoder_layers},
              {"num_heads", sizes.heads},
              {"dropout_rate", sizes.dropout},
              {"feed_forward_proj", "relu"},
              {"layer_norm_epsilon", 1e-6},
              {"tie_word_embeddings", true}};
  add_special(model.special, config);
  config["decoder_start_token_id"] = model.special.decoder_start;
  return config;
}

// Initialise with the standard deviations of modeling_t5.py (_init_weights): 1 for embeddings, (d_model ·
// d_kv)^−½ for queries, d_model^−½ for relative position biases, and (number of inputs)^−½ for all other
// matrices. Before this call, the standard deviations are 0.02 for embeddings and biases, and d_model^−½ for
// matrices.
void initialise_t5(Network& model) {
  const auto size = model.config().at("d_kv").get<double>();
  const auto hidden = static_cast<double>(model.hidden_size());
  for (Parameter* parameter : model.parameters()) {
    const Tensor& value = parameter->value();
    double factor = 1.0;
    if (parameter->name == "shared.weight")
      factor = 1.0 / 0.02;
    else if (parameter->name.ends_with("relative_attention_bias.weight"))
      factor = 1.0 / 0.02 / std::sqrt(hidden);
    else if (parameter->name.ends_with("Attention.q.weight"))
      factor = 1.0 / std::sqrt(size);
    else if (parameter->name.ends_with(".o.weight") || parameter->name.ends_with(".wo.weight"))
      factor = std::sqrt(hidden / static_cast<double>(value.columns()));
    for (std::int64_t i = 0; i < value.elements() && factor != 1.0; ++i)
      value.f32()[i] *= static_cast<float>(factor);
  }
}

}  // namespace

Json gpt2_config(const NewModel& model) {
  const TransformerConfig& sizes = model.sizes;
  Json config{{"model_type", "gpt2"},
              {"architectures", {"GPT2LMHeadModel"}},
              {"vocab_size", model.vocabulary},
              {"n_embd", sizes.hidden_size},
              {"n_layer", sizes.layers},
              {"n_head", sizes.heads},
              {"n_inner", sizes.feed_forward_size},
              {"n_positions", positions_of(model)},
              {"activation_function", "gelu_new"},
              {"resid_pdrop", sizes.dropout},
              {"embd_pdrop", sizes.dropout},
              {"attn_pdrop", attention_dropout(sizes, sizes.dropout)},
              {"layer_norm_epsilon", sizes.norm_epsilon},
              {"initializer_range", 0.02},
              {"tie_word_embeddings", sizes.tie_embeddings != "none"}};
  add_special(model.special, config);
  return config;
}

const std::vector<NewFamily>& new_families() {
  static const std::vector<std::string> encoder{
      "layers",  "hidden_size",       "heads",        "feed_forward_size", "activation",
      "dropout", "attention_dropout", "max_positions"};
  static const std::vector<std::string> pictures{
      "layers", "hidden_size", "heads", "feed_forward_size", "activation", "dropout", "attention_dropout"};
  static const std::vector<std::string> rotary{"layers",
                                               "hidden_size",
                                               "heads",
                                               "kv_heads",
                                               "head_size",
                                               "feed_forward_size",
                                               "attention_dropout",
                                               "max_positions",
                                               "norm_epsilon",
                                               "rotary_base",
                                               "tie_embeddings"};
  static const std::vector<NewFamily> all{
      {"audio-spectrogram-transformer", pictures, audio_spectrogram_transformer_config},
      {"bert", encoder, bert},
      {"clip",
       {"layers", "hidden_size", "heads", "feed_forward_size", "activation", "attention_dropout",
        "max_positions"},
       clip_config},
      {"deit", pictures, deit_config},
      {"electra", encoder, electra},
      {"gpt2",
       {"layers", "hidden_size", "heads", "feed_forward_size", "dropout", "attention_dropout",
        "max_positions", "norm_epsilon", "tie_embeddings"},
       gpt2_config},
      {"llama", rotary, llama},
      {"mistral", rotary, mistral},
      {"qwen2", rotary, qwen2},
      {"roberta", encoder, roberta},
      {"t5",
       {"encoder_layers", "decoder_layers", "hidden_size", "heads", "head_size", "feed_forward_size",
        "dropout"},
       t5,
       initialise_t5},
      {"vision-encoder-decoder",
       {"encoder_layers", "decoder_layers", "hidden_size", "heads", "feed_forward_size", "activation",
        "dropout", "attention_dropout", "max_positions", "tie_embeddings"},
       vision_encoder_decoder_config},
      {"vit", pictures, vit_config},
      {"wav2vec2", pictures, wav2vec2_config, initialise_wav2vec2},
      {"whisper",
       {"encoder_layers", "decoder_layers", "hidden_size", "heads", "feed_forward_size", "activation",
        "dropout", "attention_dropout", "max_positions"},
       whisper_config,
       initialise_whisper},
  };
  return all;
}

const NewFamily* find_new_family(const std::string& name) {
  for (const NewFamily& family : new_families())
    if (name == family.name) return &family;
  return nullptr;
}

}  // namespace regard::train
