// Architecture: a Transformer as data. A family (models/families) converts its config.json to an Architecture
// and make_network() builds it. Differences between families are values here, not copies of the block.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "models/network.h"
#include "nn/block.h"
#include "nn/convolution.h"
#include "nn/embedding.h"
#include "nn/positions.h"
#include "nn/relative_bias.h"
#include "ops/frame_window.h"
#include "ops/parameter.h"

namespace regard {

// The embedding of images: x = norm([specials, projection(patches)] + positions), with the patches in
// row-major order. The norm is that of InputEmbeddingConfig; without one there is no norm.
struct PatchConfig {
  std::int64_t channels = 3, height = 0, width = 0;  // channels of an image; height and width in pixels
  std::int64_t patch_height = 0, patch_width = 0;
  std::string projection;             // NAME.weight [hidden, channels, patch height, patch width], NAME.bias
  std::vector<std::string> specials;  // tokens before the patches: [1, 1, hidden] each
  std::string positions;              // [1, tokens, hidden]
  bool bias = true;                   // the projection has a bias
  bool flat = false;                  // specials are stored as [hidden], positions as [tokens, hidden] (CLIP)
  // Distance of adjacent patches, which may overlap. 0 means the size of a patch.
  std::int64_t row_stride = 0, column_stride = 0;
  // The image is a spectrogram: features [frames, bins], frames along the width, bins along the height.
  bool spectrogram = false;

  std::int64_t rows() const {
    return FrameWindow{patch_height, row_stride > 0 ? row_stride : patch_height}.output_frames(height);
  }
  std::int64_t columns() const {
    return FrameWindow{patch_width, column_stride > 0 ? column_stride : patch_width}.output_frames(width);
  }
  std::int64_t tokens() const { return std::ssize(specials) + rows() * columns(); }
};

// Features or samples [frames, bins] instead of ids:
//   x = layers(input); x = projection(projection_norm(x)); x = norm(x + positions + position_layer(x))
// Empty names and an absent position_layer are left out.
struct FrontConfig {
  std::int64_t frames = 0;  // 0 means any number
  std::int64_t bins = 1;
  const char* input_name = "input_features";  // name in Hugging Face's models
  bool bins_first = false;
  std::vector<nn::ConvolutionConfig> layers;
  std::string projection, projection_norm;
  float projection_dropout = 0.0f;
  std::string positions;  // NAME.weight [frames of the last layer, hidden]
  std::optional<nn::ConvolutionConfig> position_layer;
  std::string norm;
  nn::NormConfig norm_config;  // configuration of projection_norm and norm
};

// The embedding, from ids to the first layer's input:
//   x = project(norm(factor · tokens[id] + positions[position + first_position] + types[type]))
// An empty name means that there is no such weight.
struct InputEmbeddingConfig {
  std::string tokens;  // [vocabulary, size]; tables with the same name share one weight
  std::int64_t vocabulary = 0;
  std::int64_t size = 0;      // features of the tables; 0 means hidden
  std::int64_t padding = -1;  // torch.nn.Embedding's padding_idx: no gradient from look-ups
  float factor = 1.0f;
  std::string positions;  // [position_rows, size]: learned
  std::int64_t position_rows = 0;
  std::int64_t first_position = 0;  // the row of position 0
  std::optional<nn::SinusoidLayout> sinusoids;
  std::string types;  // [type_count, size]
  std::int64_t type_count = 0;
  std::string norm;
  nn::NormConfig norm_config;
  std::string projection;  // projection from size to hidden
  float dropout = 0.0f;
  Initialisation initial = {Initialisation::Kind::normal, 0.02};
  // If one of these is set, the fields above have no effect, except norm, dropout, initial and, for a model
  // with an output vocabulary, vocabulary.
  std::optional<PatchConfig> patches;
  std::optional<FrontConfig> front;
};

struct StackConfig {
  std::string point;   // "encoder" or "decoder": the name in probes and random draws
  std::string prefix;  // prefix of the layers' weight names, before the layer number: "encoder.layer."
  std::int64_t layers = 0;
  InputEmbeddingConfig input;
  nn::BlockConfig block;
  std::function<void(std::int64_t layer, nn::BlockConfig&)> vary;  // changes `block` per layer; may be empty
  std::optional<nn::RotaryConfig> rotary;
  std::optional<nn::RelativeBiasConfig> relative_bias;  // one table that all layers share
  std::string norm;                                     // norm after the last layer
  nn::NormConfig norm_config;
  float output_dropout = 0.0f;  // dropout after that norm
  // True if the last entry of `hidden_states` in the reference code is the state after that norm.
  bool last_state_is_normed = true;
};

// A linear layer of a head: norm(activation(W x + b)).
struct DenseConfig {
  std::string name;
  std::int64_t out = 0;
  kernels::Activation activation = kernels::Activation::none;
  bool bias = true;
  std::string norm;
  nn::NormConfig norm_config;
};

// The head: it selects rows, applies the norm and the dense layers, then the output projection. A projection
// with the name of a token table is tied to it.
struct HeadConfig {
  enum class Rows { all, first, last, first_two };  // first_two: the mean of the first two rows
  Output output = Output::none;
  Rows rows = Rows::all;
  std::string norm;  // norm of the rows, before the dense layers; empty if there is none
  nn::NormConfig norm_config;
  std::vector<DenseConfig> dense;
  std::string projection;  // [out, features]: NAME.weight; empty if there is none
  std::int64_t out = 0;
  std::string bias;  // full name of the projection's bias; empty if there is none
  // Rows::first without dense layers: a second projection, NAME.weight and NAME.bias, of the sequence's
  // second row. The output is the mean of both (DeiT). Empty if there is none.
  std::string second;
  bool bias_is_row = false;    // stored as [1, out]
  float factor = 1.0f;         // factor of the hidden states before the projection (T5 1.0)
  float dropout = 0.0f;        // dropout before the projection, in training
  bool optional = false;       // if true and the file lacks the dense layers, the model has no head
  std::string tied_if_absent;  // token table used if the file lacks the projection; empty if there is none
  Initialisation initial = {Initialisation::Kind::normal, 0.02};
};

struct Architecture {
  Json config;  // unmodified, to be saved again
  std::int64_t hidden = 0;
  std::int64_t max_positions = 0;  // 0 means no limit
  std::optional<StackConfig> encoder, decoder;
  // Number of features of the encoder if it differs from the decoder's (0 means hidden), and the linear
  // layer NAME.weight, NAME.bias that the decoder applies to the encoder's output. Without this layer,
  // cross-attention reads memory_hidden features.
  std::int64_t encoder_hidden = 0;
  std::string memory_projection;
  HeadConfig head;
  bool head_pools = false;  // the head's dense layers are the base model's pooler
  // The base model's pooler (of the first token) for a class that does not use it. Loaded if the file has it.
  std::optional<DenseConfig> pooler;
  PositionRule positions;
  NameRules names;
};

// Build the network, without weights. Throws usage if the parts do not fit together.
std::unique_ptr<Network> make_network(Architecture architecture);

}  // namespace regard
