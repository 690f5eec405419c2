// The list of a Transformer's configuration keys, for config.json and for the [model] section of run files.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "models/transformer.h"
#include "nn/activation_name.h"

namespace regard::models::transformer {

// Description of a key. Keys with an empty `meaning` are derived from the task and the tokenizer and cannot
// be set in run files.
struct Key {
  const char* name = "";
  const char* unit = "";
  std::string meaning{};
  double low = -std::numeric_limits<double>::infinity();  // for numbers: smallest and largest allowed value
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices{};  // for strings: allowed values

  bool in_run_files() const { return !meaning.empty(); }
};

inline Key derived(const char* name) {
  return Key{.name = name};
}
inline Key flag(const char* name, const char* meaning) {
  return Key{.name = name, .meaning = meaning};
}
inline Key number(const char* name, const char* meaning, double low, double high) {
  return Key{.name = name, .meaning = meaning, .low = low, .high = high};
}
inline Key word(const char* name, const char* meaning, std::vector<std::string> choices) {
  return Key{.name = name, .meaning = meaning, .choices = std::move(choices)};
}

// Call visit(key, value) for each field. Config is TransformerConfig, const or not.
template <class Config, class Visitor>
void visit_fields(Config& c, Visitor&& visit) {
  constexpr double kMany = 1 << 24;
  visit(Key{.name = "kind", .choices = {"encoder-decoder", "decoder", "encoder"}}, c.kind);
  visit(derived("vocabulary"), c.vocabulary);
  visit(derived("source_vocabulary"), c.source_vocabulary);
  visit(number("encoder_layers", "Number of encoder layers.", 1, 1024), c.encoder_layers);
  visit(number("decoder_layers", "Number of decoder layers.", 1, 1024), c.decoder_layers);
  visit(number("layers", "Number of layers of a language model.", 1, 1024), c.layers);
  visit(number("hidden_size", "Hidden size (features per token).", 1, 1 << 20), c.hidden_size);
  visit(number("heads", "Number of attention heads; must divide hidden_size unless head_size is set.", 1,
               kMany),
        c.heads);
  visit(number("kv_heads", "Number of key/value heads (grouped-query attention); 0 means the value of heads.",
               0, kMany),
        c.kv_heads);
  visit(number("head_size", "Size of a head; 0 means hidden_size / heads.", 0, 1 << 16), c.head_size);
  visit(number("feed_forward_size", "Inner size of the feed-forward layer.", 1, kMany), c.feed_forward_size);
  visit(word("activation", "Activation of the feed-forward layer.", activation_names()), c.activation);
  visit(flag("gated", "Use a gated feed-forward layer with three matrices (Shazeer 2020)."), c.gated);
  visit(word("norm",
             "pre: norm before each sublayer and after the last layer; post: norm after each residual sum.",
             {"pre", "post"}),
        c.norm);
  visit(word("norm_kind", "Layer normalisation (layer) or RMS normalisation (rms).", {"layer", "rms"}),
        c.norm_kind);
  visit(number("norm_epsilon", "Value added to the variance in norms.", 1e-12, 0.5), c.norm_epsilon);
  visit(word("positions", "Position encoding.", {"sinusoidal", "learned", "rotary", "none"}), c.positions);
  visit(Key{.name = "max_positions",
            .unit = "tokens",
            .meaning =
                "Maximum sequence length. 0 means no limit; with learned positions, 0 means the value of "
                "data.max_length or training.context.",
            .low = 0,
            .high = 1 << 30},
        c.max_positions);
  visit(number("rotary_base", "Base of the angles of rotary positions.", 1.001, 1e12), c.rotary_base);
  visit(word("tie_embeddings", "Embeddings that share weights: none, decoder (its input and output), or all.",
             {"none", "decoder", "all"}),
        c.tie_embeddings);
  visit(word("scale_embeddings", "Multiply embeddings by √hidden_size; auto: only with sinusoidal positions.",
             {"auto", "yes", "no"}),
        c.scale_embeddings);
  visit(flag("bias", "Use biases in linear layers and layer norms."), c.bias);
  visit(number("dropout", "Dropout rate of embeddings and sublayer outputs.", 0, 0.999), c.dropout);
  visit(number("attention_dropout", "Dropout rate of attention weights; -1 means the value of dropout.", -1,
               0.999),
        c.attention_dropout);
  visit(number("activation_dropout",
               "Dropout rate inside the feed-forward layer; -1 means the value of dropout.", -1, 0.999),
        c.activation_dropout);
  visit(
      word("initialisation", "Weight initialisation; auto: gpt2 for language models, xavier for translation.",
           {"auto", "xavier", "gpt2"}),
      c.initialisation);
  visit(derived("pad_token_id"), c.pad_token_id);
  visit(derived("bos_token_id"), c.bos_token_id);
  visit(derived("eos_token_id"), c.eos_token_id);
  visit(derived("decoder_start_token_id"), c.decoder_start_token_id);
}

}  // namespace regard::models::transformer
