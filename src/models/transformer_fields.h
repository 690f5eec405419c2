// The one list of a Transformer's configuration keys, for config.json and for the [model] section of run
// files.
#pragma once

#include <string>
#include <vector>

#include "models/transformer.h"
#include "nn/activation_name.h"

namespace regard::transformer {

// Calls visit(key, value) for each field, and visit(key, value, choices) where the value is one of some
// words. Config is const or not.
template <class Config, class Visitor>
void visit_fields(Config& c, Visitor&& visit) {
  using Words = std::vector<std::string>;
  visit("kind", c.kind, Words{"encoder-decoder", "decoder", "encoder"});
  visit("vocabulary", c.vocabulary);
  visit("source_vocabulary", c.source_vocabulary);
  visit("encoder_layers", c.encoder_layers);
  visit("decoder_layers", c.decoder_layers);
  visit("layers", c.layers);
  visit("hidden_size", c.hidden_size);
  visit("heads", c.heads);
  visit("kv_heads", c.kv_heads);
  visit("head_size", c.head_size);
  visit("feed_forward_size", c.feed_forward_size);
  visit("activation", c.activation, activation_names());
  visit("gated", c.gated);
  visit("norm", c.norm, Words{"pre", "post"});
  visit("norm_kind", c.norm_kind, Words{"layer", "rms"});
  visit("norm_epsilon", c.norm_epsilon);
  visit("positions", c.positions, Words{"sinusoidal", "learned", "rotary", "none"});
  visit("max_positions", c.max_positions);
  visit("rotary_base", c.rotary_base);
  visit("tie_embeddings", c.tie_embeddings, Words{"none", "decoder", "all"});
  visit("scale_embeddings", c.scale_embeddings, Words{"auto", "yes", "no"});
  visit("bias", c.bias);
  visit("dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("activation_dropout", c.activation_dropout);
  visit("initialisation", c.initialisation, Words{"auto", "xavier", "gpt2"});
  visit("pad_token_id", c.pad_token_id);
  visit("bos_token_id", c.bos_token_id);
  visit("eos_token_id", c.eos_token_id);
  visit("decoder_start_token_id", c.decoder_start_token_id);
}

}  // namespace regard::transformer
