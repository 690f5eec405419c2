// Architecture: a Transformer described as data. Each model family (models/families) converts its config.json
// to an Architecture, and make_network() builds the model from it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/namespaces.h"
#include "models/attention_pooling.h"
#include "models/network.h"
#include "nn/block.h"
#include "nn/convolution.h"
#include "nn/convolution_adapter.h"
#include "nn/embedding.h"
#include "nn/positions.h"
#include "nn/relative_bias.h"
#include "ops/frame_window.h"
#include "ops/parameter.h"

namespace regard::models {

// Configuration of the patch embedding of images, with patches in row-major order:
//   x = norm([special tokens, projection(patches)] + positions)
// InputEmbeddingConfig::norm is the name of the norm; empty if there is no norm.
struct PatchConfig {
  // size of an image: number of channels; height and width in pixels
  std::int64_t channels = 3, height = 0, width = 0;
  std::int64_t patch_height = 0, patch_width = 0;
  // name of the projection of patches: NAME.weight [hidden, channels, patch height, patch width], NAME.bias
  std::string projection;
  std::vector<std::string> specials;  // names of the special tokens before the patches, each [1, 1, hidden]
  std::string positions;              // name of the position table [1, tokens, hidden]
  bool bias = true;                   // true if the projection has a bias
  // true if the file stores special tokens as [hidden] and positions as [tokens, hidden] (CLIP)
  bool flat = false;
  // distance between the starts of adjacent patches in pixels; default: 0, which means the size of a patch
  std::int64_t row_stride = 0, column_stride = 0;
  // True if the image is a spectrogram [frames, bins]: frames along the width, bins along the height.
  bool spectrogram = false;

  std::int64_t rows() const {
    return FrameWindow{patch_height, row_stride > 0 ? row_stride : patch_height}.output_frames(height);
  }
  std::int64_t columns() const {
    return FrameWindow{patch_width, column_stride > 0 ? column_stride : patch_width}.output_frames(width);
  }
  std::int64_t tokens() const { return std::ssize(specials) + rows() * columns(); }
};

// Configuration of the first layers of audio models, which read features or samples [frames, bins]:
//   x = layers(input); x = projection(projection_norm(x)); x = norm(x + positions + position_layer(x))
// A norm, projection or position table with an empty name is omitted. position_layer is optional.
struct FrontConfig {
  std::int64_t frames = 0;  // number of input frames; 0 means any number
  std::int64_t bins = 1;
  const char* input_name = "input_features";  // name of the input in transformers
  bool bins_first = false;
  std::vector<nn::ConvolutionConfig> layers;
  std::string projection, projection_norm;
  float projection_dropout = 0.0f;
  std::string positions;  // name of learned positions: NAME.weight [output frames of `layers`, hidden]
  std::optional<nn::ConvolutionConfig> position_layer;
  std::string norm;
  nn::NormConfig norm_config;  // settings of projection_norm and norm
};

// Configuration of the embedding, which converts ids to the input of the first layer:
//   x = project(norm(factor · tokens[id] + positions[position + first_position] + types[type]))
// A table, norm or projection with an empty name is omitted.
struct InputEmbeddingConfig {
  // name of the token table [vocabulary, size]; tables with the same name share one weight
  std::string tokens;
  std::int64_t vocabulary = 0;
  std::int64_t size = 0;  // number of features of each table; 0 means `hidden`
  // padding_idx of torch.nn.Embedding: look-ups of this id add no gradient; −1 means none
  std::int64_t padding = -1;
  float factor = 1.0f;
  std::string positions;  // name of the table of learned positions [position_rows, size]
  std::int64_t position_rows = 0;
  std::int64_t first_position = 0;  // row of position 0 in the position table or in the sinusoids
  // padding_idx of the position table: look-ups of this row add no gradient; −1 means none
  std::int64_t position_padding = -1;
  std::optional<nn::SinusoidLayout> sinusoids;
  // Name of a position table, never trained, that replaces the computed sinusoids if the file contains the
  // table. Empty if the family has no such table.
  std::string stored_sinusoids;
  std::string types;  // name of the table of token types [type_count, size]
  std::int64_t type_count = 0;
  std::string norm;
  nn::NormConfig norm_config;
  std::string projection;  // name of a linear layer with `size` inputs and `hidden` outputs
  float dropout = 0.0f;
  Initialisation initial = {Initialisation::Kind::normal, 0.02};
  // Input of a model that reads images (`patches`) or audio (`front`) instead of token ids. Such a model uses
  // only these of the fields above: norm, norm_config, dropout, initial and, if it has an output vocabulary,
  // `vocabulary`.
  std::optional<PatchConfig> patches;
  std::optional<FrontConfig> front;
};

struct StackConfig {
  std::string point;   // "encoder" or "decoder": prefix of the names of probe points and random draws
  std::string prefix;  // prefix of weight names before the layer number, such as "encoder.layer."
  std::int64_t layers = 0;
  InputEmbeddingConfig input;
  nn::BlockConfig block;
  // function that changes `block` for each layer; may be empty
  std::function<void(std::int64_t layer, nn::BlockConfig&)> vary;
  std::optional<nn::RotaryConfig> rotary;
  std::optional<nn::RelativeBiasConfig> relative_bias;  // relative position biases, shared by all layers
  std::string norm;                                     // name of the norm after the last layer
  nn::NormConfig norm_config;
  float output_dropout = 0.0f;  // dropout after the final norm
  // True if the last entry of `hidden_states` in the reference implementation is the state after the norm
  // named `norm`.
  bool last_state_is_normed = true;
  // Name of the weights of a learned sum over the states of the embedding and all layers: the output is Σ
  // softmax(weights)[i] · state[i]. If empty, the output is the state of the last layer.
  std::string layer_weights;
};

// A dense layer of an output head: a linear layer, followed by an activation and a norm.
struct DenseConfig {
  std::string name;
  std::int64_t out = 0;
  kernels::Activation activation = kernels::Activation::none;
  bool bias = true;
  std::string norm;
  nn::NormConfig norm_config;
};

// Configuration of the output head, which selects rows, then applies the norm, the dense layers and the
// output projection. A projection with the name of a token table is tied to that table.
struct HeadConfig {
  // Rows of each sequence that the head reads. last: the row of the last token that is not `padding`, or the
  // first row if all tokens are `padding`. first_two: the mean of the first two rows. mean: the mean of all
  // rows.
  enum class Rows { all, first, last, first_two, mean };
  Output output = Output::none;
  Rows rows = Rows::all;
  std::int64_t padding = -1;  // id of the padding token, for Rows::last; −1 means none
  std::string norm;           // name of the norm before the dense layers; empty if there is none
  nn::NormConfig norm_config;
  std::vector<DenseConfig> dense;
  // name of the output projection: NAME.weight [out, features]; empty if there is none
  std::string projection;
  std::int64_t out = 0;
  std::string bias;  // full name of the projection's bias; empty if there is none
  // Name of a second projection (NAME.weight, NAME.bias), applied to the sequence's second row; empty if
  // there is none. The output is then the mean of the two projections (DeiT). Requires Rows::first and no
  // dense layers.
  std::string second;
  bool bias_is_row = false;  // true if the projection's bias is stored as [1, out]
  float factor = 1.0f;       // factor of the hidden states before the projection (T5 version 1.0)
  // Dropout in training: before the first dense layer, and before the projection.
  float input_dropout = 0.0f, dropout = 0.0f;
  bool optional = false;       // true if the head is omitted when the file lacks the first dense layer
  std::string tied_if_absent;  // token table used if the file lacks the projection; empty if there is none
  Initialisation initial = {Initialisation::Kind::normal, 0.02};
};

struct Architecture {
  Json config;  // config.json, unmodified, for saving
  std::int64_t hidden = 0;
  std::int64_t max_positions = 0;  // maximum number of positions; 0 means no limit
  std::optional<StackConfig> encoder, decoder;
  std::int64_t encoder_hidden = 0;  // number of features of the encoder's output; 0 means `hidden`
  // Name of the linear layer (NAME.weight, NAME.bias) that projects the encoder's output to `hidden` features
  // for the decoder. If it is empty, cross-attention reads the encoder's output, which then has
  // AttentionConfig::memory_hidden features.
  std::string memory_projection;
  // Layers after the encoder that reduce the number of positions. The head then reads their output.
  std::optional<nn::ConvolutionAdapterConfig> adapter;
  HeadConfig head;
  std::optional<AttentionPoolingConfig> pooling;  // pooling of the encoder's states; replaces the head
  bool head_pools = false;  // true if the head's dense layers are the base model's pooler
  // The base model's pooler of the first token, if the head does not use a pooler. It is loaded only if the
  // file contains it.
  std::optional<DenseConfig> pooler;
  PositionRule positions;
  NameRules names;
};

// Build the network without weights; the sizes in `architecture` must be consistent. Throws usage if the
// number of groups of a convolution does not divide its number of channels.
std::unique_ptr<Network> make_network(Architecture architecture);

}  // namespace regard::models
