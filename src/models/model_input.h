// Input of a model: token ids, features or pixels. Only the first layer of a model (models/stack.h,
// InputEmbedding) reads the content of an input; other code only forwards the input.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "ops/frame_window.h"
#include "ops/ragged.h"
#include "regard/tensor.h"

namespace regard::models {

enum class InputKind : std::uint8_t { tokens, features, pixels };

// The input of one sequence.
struct ModelInput {
  std::vector<std::int32_t> ids;    // token ids [tokens]
  std::vector<std::int32_t> types;  // token types [tokens]; empty means all 0
  // Replaces ids: contiguous f32 features [frames, bins] or pixels [1, channels, height, width].
  Tensor values;

  ModelInput() = default;
  // This constructor is not explicit, because token ids are the most frequent input.
  ModelInput(std::vector<std::int32_t> token_ids, std::vector<std::int32_t> token_types = {})
      : ids(std::move(token_ids)), types(std::move(token_types)) {}
  explicit ModelInput(Tensor features_or_pixels) : values(std::move(features_or_pixels)) {}

  InputKind kind() const {
    if (!values.defined()) return InputKind::tokens;
    return values.shape().rank() == 2 ? InputKind::features : InputKind::pixels;
  }
  bool empty() const { return ids.empty() && !values.defined(); }

  // Return true if both inputs are bit-identical.
  friend bool operator==(const ModelInput& a, const ModelInput& b);
};

// Kind and shape of a model's input. Computes the number of positions that an input occupies.
struct InputSpec {
  InputKind kind = InputKind::tokens;
  // Shape of ModelInput::values: [frames, bins] or [1, channels, height, width]; unused for tokens. If frames
  // is 0, an input may have any number of frames that is at least fewest_frames().
  Shape shape;
  const char* name = "pixel_values";  // name of the input in transformers
  // True if the input of transformers has the shape [batch, bins, frames] instead of [batch, frames, bins].
  // With one bin, the shape is [batch, frames].
  bool bins_first = false;
  std::vector<FrameWindow> windows = {};  // convolutions over the frames, in order; empty for patches
  // Convolutions over the positions after the last layer, in order. The model's output has one row for each
  // of their output frames. Usually empty.
  std::vector<FrameWindow> output_windows = {};
  // True if a norm covers all frames of a sequence. Frames of padding would then change the other frames.
  bool normalizes_over_frames = false;
  // The positions of an image: `specials` special tokens, then a grid of patches in row-major order.
  std::int64_t specials = 0, patch_rows = 0, patch_columns = 0;

  // Throw usage ("expected image input, found text") if `given` is not the kind of input that the model
  // reads.
  void require(InputKind given) const;
  // Return the number of positions of the input. Throws usage if the input has a wrong kind, and
  // invalid_input if it has a wrong shape or dtype, is not contiguous, or has too few frames.
  std::int64_t length_of(const ModelInput& input) const;
  std::int64_t length_of(const Tensor& values) const;
  // Return the number of rows of the model's output if the last layer has `positions` positions. The two
  // numbers differ only if there are output_windows.
  std::int64_t output_length(std::int64_t positions) const;
  ModelInput blank() const;  // return a valid input: token 0, or values of 0
  // return the smallest number of frames for which the model's output has one row, for models that accept any
  // number of frames
  std::int64_t fewest_frames() const;
};

// The inputs of one forward pass: a ragged batch of concatenated sequences without padding. InputBuffer
// builds an InputBatch from ModelInputs.
struct InputBatch {
  std::span<const std::int32_t> ids;  // [tokens]
  Ragged shape;
  std::span<const std::int32_t> types = {};  // [tokens]: token types; empty means all 0
  // Attention mask [tokens] for comparisons with padded batches in PyTorch: 0 masks a token; null means no
  // mask. With a mask, all sequences must have the same length.
  const std::uint8_t* attended = nullptr;
  std::span<const Tensor> values = {};  // inputs of the sequences (ModelInput::values), used instead of ids
};
// Throw usage unless the batch is text without masked tokens. `network` names the network in the message.
void require_unmasked_text(const InputBatch& batch, const std::string& network);
using TokenBatch = InputBatch;  // input of a decoder, which is always token ids

// Owns the arrays to which an InputBatch refers. clear() keeps their memory for reuse.
class InputBuffer {
 public:
  void clear();
  bool empty() const { return shape_.view().sequences() == 0; }
  // Append a sequence. `length` is InputSpec::length_of(input); RaggedBuffer::add() describes `index`.
  void add(const ModelInput& input, std::int64_t length, std::uint64_t index);
  InputBatch batch() const;  // return the batch; valid until the next add() or clear()

 private:
  RaggedBuffer shape_;
  std::vector<std::int32_t> ids_, types_;
  std::vector<Tensor> values_;
};

}  // namespace regard::models
