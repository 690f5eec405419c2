// Padded input of an encoder or decoder, [batch, length] with a mask, and its conversion to a ragged batch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/network.h"
#include "ops/padding.h"
#include "ops/ragged.h"

namespace regard::inspect {

using TensorMap = std::map<std::string, Tensor>;

// The names of the inputs of an encoder or decoder. Missing inputs other than ids get the defaults of
// Hugging Face's models.
struct SideNames {
  std::string ids = "input_ids", mask = "attention_mask", types = "token_type_ids",
              positions = "position_ids";
};

class PaddedSide {
 public:
  // With compute_padding, masked tokens are computed too, as in PyTorch; no query attends to them. Throws
  // invalid_input for invalid shapes or values.
  PaddedSide(const TensorMap& inputs, const SideNames& names, const PositionRule& rule, bool compute_padding);
  // Construct from images or features. The input has the name spec.name: "pixel_values" [batch, channels,
  // height, width], "input_features" [batch, bins, frames], or "input_values" [batch, frames, bins] or
  // [batch, samples]. Samples may have an "attention_mask" (ones, then zeros); masked samples are not
  // computed. Throws invalid_input for a mask if the statistics of a norm would include the padding.
  PaddedSide(const TensorMap& inputs, const InputSpec& spec);
  // Return the lengths of the model's outputs for these inputs (InputSpec::output_windows), without values.
  PaddedSide outputs(const InputSpec& spec) const;

  InputBatch batch() const;
  std::vector<ModelInput> inputs() const;  // return one input per sequence
  std::int64_t sequences() const { return batch_; }
  std::int64_t length() const { return length_; }
  const std::uint8_t* attended() const { return attended_.empty() ? nullptr : attended_.data(); }

  Tensor remove(const Tensor& padded) const { return padding_.remove(padded); }
  // Convert labels [batch, length] to one per token. With `shift`, each token gets the label of the next
  // position, and the last position gets kIgnoredLabel.
  std::vector<std::int32_t> labels(const Tensor& padded, bool shift) const;

  // Convert [tokens, features] to [batch, length, features]. Padded positions are zero; with keep_padding,
  // only the positions that were not computed are zero.
  Tensor restore(const Tensor& ragged, bool keep_padding) const;
  // Copy the attention weights of one sequence [heads, queries, keys] to `into` [batch, heads, length,
  // keys.length()]. Rows of padded queries are skipped unless keep_padding is set.
  void place(const Tensor& weights, std::int64_t sequence, const PaddedSide& keys, bool keep_padding,
             Tensor& into) const;

 private:
  PaddedSide() : padding_(0, 0, {}) {}
  void set_lengths(const std::vector<std::int64_t>& lengths);  // set the shape and the mask
  bool shown(std::size_t place, bool keep_padding) const;
  std::int64_t batch_ = 0, length_ = 0;
  std::vector<std::uint8_t> mask_;      // mask [batch × length]
  std::vector<std::uint8_t> attended_;  // mask_ if padding is computed, otherwise empty
  Padding padding_;
  std::vector<std::int32_t> ids_, types_;  // token ids and token types [tokens]
  std::vector<Tensor> values_;  // values of each sequence (ModelInput::values); empty for token ids
  RaggedBuffer shape_;
};

// The inputs of the encoder and the decoder for one forward pass, read from named tensors.
struct PassSides {
  std::optional<PaddedSide> source, target;  // inputs of the encoder and the decoder; unset if absent

  // Lengths of the outputs of a model with InputSpec::output_windows; unset for other models.
  std::optional<PaddedSide> output;

  // Return `target` if there is a decoder, else `source`.
  const PaddedSide& main() const { return target ? *target : *source; }
  // Return the side whose tokens are the rows of the model's output.
  const PaddedSide& rows() const { return output ? *output : main(); }

  // Throws invalid_input for invalid shapes or values.
  static PassSides of(Network& model, const TensorMap& inputs, bool compute_padding);
};

}  // namespace regard::inspect
