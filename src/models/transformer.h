// The Transformer that regard trains from scratch ("model_type": "regard-transformer"): encoder–decoder
// (Vaswani et al. 2017), decoder-only (Radford et al. 2019) or encoder-only, by configuration.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/namespaces.h"
#include "models/network.h"

namespace regard::models {

inline constexpr const char* kTransformerType = "regard-transformer";

// The keys of config.json and of the [model] section of a run file. The comments list the choices of each
// key.
struct TransformerConfig {
  std::string kind = "encoder-decoder";  // kind of model: encoder-decoder, decoder or encoder
  std::int64_t vocabulary = 0;           // vocabulary size (encoder–decoders: of the target); required
  // source vocabulary size of encoder–decoders; 0 means the same as vocabulary
  std::int64_t source_vocabulary = 0;
  std::int64_t encoder_layers = 6;  // number of encoder layers, for encoder–decoders
  std::int64_t decoder_layers = 6;  // number of decoder layers, for encoder–decoders
  std::int64_t layers = 6;          // number of layers, for encoder-only and decoder-only models
  std::int64_t hidden_size = 512;
  std::int64_t heads = 8;
  // number of key and value heads; 0 means the same as heads; a smaller number means grouped-query attention
  // (Ainslie et al. 2023)
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;  // features per head; 0 means hidden_size / heads
  std::int64_t feed_forward_size = 2048;
  // activation of the feed-forward layers: relu, gelu, gelu_tanh, silu, tanh, sigmoid, quick_gelu
  std::string activation = "relu";
  bool gated = false;        // gated feed-forward layer with three matrices (Shazeer 2020)
  std::string norm = "pre";  // position of the norms: pre (with another norm after the last layer) or post
  std::string norm_kind = "layer";  // kind of norm: layer or rms
  double norm_epsilon = 1e-5;
  std::string positions = "sinusoidal";  // kind of positions: sinusoidal, learned, rotary or none
  // maximum number of positions; required for learned positions; 0 means no limit
  std::int64_t max_positions = 0;
  double rotary_base = 10000.0;
  // embeddings that share a weight: none, decoder (its input and output), or all (also the encoder's input)
  std::string tie_embeddings = "all";
  // multiply embeddings by √hidden_size: yes, no, or auto (yes if positions are sinusoidal)
  std::string scale_embeddings = "auto";
  bool bias = true;      // biases of linear layers and layer norms; the output projection never has one
  double dropout = 0.1;  // dropout of embeddings, and of each branch before the residual sum
  double attention_dropout = -1.0;  // dropout of attention weights; negative: the value of `dropout`
  // dropout inside the feed-forward layer; negative: the value of `dropout`
  double activation_dropout = -1.0;
  // initialisation: xavier, gpt2, or auto (gpt2 without an encoder, otherwise xavier)
  std::string initialisation = "auto";
  // Ids for decoding; the network does not use them. −1 means that there is none.
  std::int64_t pad_token_id = -1, bos_token_id = -1, eos_token_id = -1, decoder_start_token_id = -1;

  bool has_encoder() const { return kind != "decoder"; }
  bool has_decoder() const { return kind != "encoder"; }
  std::int64_t encoder_count() const;  // number of encoder layers; 0 if there is no encoder
  std::int64_t decoder_count() const;
  bool scales_embeddings() const;  // value of scale_embeddings with "auto" resolved

  // Parse config.json; "architectures" and "transformers_version" are ignored. Throws bad_file, naming `file`
  // and the key, if "model_type" is wrong, a key is unknown, "vocabulary" is missing, or a value is invalid.
  static TransformerConfig from_json(const Json& json, const std::string& file = "config.json");
  Json to_json() const;
  // Throw usage, naming the key, if a value is invalid.
  void check() const;
};

std::unique_ptr<Network> make_transformer(const TransformerConfig& config);

}  // namespace regard::models
