// Input of a model: token ids, features or pixels. Batches, requests, tasks and inspection only pass a
// ModelInput on; only the first layer of a model (models/stack.h, InputEmbedding) uses its content.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/frame_window.h"
#include "ops/ragged.h"
#include "regard/tensor.h"

namespace regard {

enum class InputKind : std::uint8_t { tokens, features, pixels };

// The input of one sequence.
struct ModelInput {
  std::vector<std::int32_t> ids;    // [tokens]
  std::vector<std::int32_t> types;  // [tokens]: token types; empty means all 0
  // Instead of ids, contiguous f32: features [frames, bins] or pixels [1, channels, height, width].
  Tensor values;

  ModelInput() = default;
  // Implicit: token ids are the usual input.
  ModelInput(std::vector<std::int32_t> token_ids, std::vector<std::int32_t> token_types = {})
      : ids(std::move(token_ids)), types(std::move(token_types)) {}
  explicit ModelInput(Tensor features_or_pixels) : values(std::move(features_or_pixels)) {}

  InputKind kind() const {
    if (!values.defined()) return InputKind::tokens;
    return values.shape().rank() == 2 ? InputKind::features : InputKind::pixels;
  }
  bool empty() const { return ids.empty() && !values.defined(); }

  // Return true if both are the same input, bit for bit.
  friend bool operator==(const ModelInput& a, const ModelInput& b);
};

// Kind and shape of a model's input, and the number of positions that an input takes.
struct InputSpec {
  InputKind kind = InputKind::tokens;
  // Shape of ModelInput::values: [frames, bins] or [1, channels, height, width]; kind tokens: unused. 0
  // frames: any number that gives at least one position.
  Shape shape;
  // Name of the input in Hugging Face's models, there [batch, bins, frames] if bins_first, and [batch,
  // frames] if there is one bin.
  const char* name = "pixel_values";
  bool bins_first = false;
  std::vector<FrameWindow> windows = {};  // convolutions over the frames, in order; empty for patches
  // Whether a norm covers all frames of a sequence, so that padded frames would change the others.
  bool normalizes_over_frames = false;
  // An input of values has `specials` special tokens, then a grid of patches in row-major order.
  std::int64_t specials = 0, patch_rows = 0, patch_columns = 0;

  // Throws usage ("expected image input, found text") if the model does not read this kind.
  void require(InputKind given) const;
  // Return the number of positions of the input. Throws usage for another kind of input, and invalid_input
  // for another shape.
  std::int64_t length_of(const ModelInput& input) const;
  std::int64_t length_of(const Tensor& values) const;
  ModelInput blank() const;            // a valid input: token 0, or values of 0
  std::int64_t fewest_frames() const;  // features of any length: frames that give one position
};

// The inputs of one pass: a ragged batch of concatenated sequences without padding. InputBuffer builds one
// from ModelInputs.
struct InputBatch {
  std::span<const std::int32_t> ids;  // [tokens]
  Ragged shape;
  std::span<const std::int32_t> types = {};  // [tokens]: token types; empty means all 0
  // [tokens]: 0 for tokens that no query may attend to, that is padding computed as in PyTorch. All
  // sequences must then have the same length. If null, every token may be attended to.
  const std::uint8_t* attended = nullptr;
  std::span<const Tensor> values = {};  // [sequences]: ModelInput::values, instead of ids
};
using TokenBatch = InputBatch;  // the input of a decoder: always token ids

// Owner of the arrays that an InputBatch views. clear() keeps the memory, so a steady step does not allocate.
class InputBuffer {
 public:
  void clear();
  bool empty() const { return shape_.view().sequences() == 0; }
  // Append a sequence. `length`: InputSpec::length_of(input); `index`: see RaggedBuffer::add().
  void add(const ModelInput& input, std::int64_t length, std::uint64_t index);
  InputBatch batch() const;  // valid until the next add() or clear()

 private:
  RaggedBuffer shape_;
  std::vector<std::int32_t> ids_, types_;
  std::vector<Tensor> values_;
};

}  // namespace regard
