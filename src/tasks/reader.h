// Convert texts to model inputs: token ids with special tokens, within the model's maximum length. The
// spelling of a special token in a text is encoded as ordinary text, except by read_marked().
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "infer/loaded_model.h"
#include "text/tokenizer.h"

namespace regard::tasks {

// Model input of one text, pair of texts or image.
struct Input : ModelInput {
  Input() = default;
  explicit Input(ModelInput input, bool was_cut = false) : ModelInput(std::move(input)), cut(was_cut) {}

  bool cut = false;  // true if the text was truncated

  std::int64_t tokens() const { return std::ssize(ids); }
};

// Options that all tasks have in common.
struct Options {
  // maximum tokens of one input, including special tokens; 0 means the model's maximum
  std::int64_t most_tokens = 0;
  bool cut = false;        // truncate longer texts at the end; if false, read() throws for them
  Probe* probe = nullptr;  // called in every forward pass; it can ablate heads. Not owned; may be null
};

class Reader {
 public:
  // Throws usage if most_tokens exceeds the model's maximum, or is too small for the special tokens and a
  // text.
  Reader(const infer::LoadedModel& loaded, const Options& options);

  // Return the model input of a text or of a pair of texts. A pair is truncated by the strategy longest_first
  // of transformers: tokens of the longer text are removed first. Throws invalid_input if the input is too
  // long and `cut` is false.
  Input read(std::string_view text) const { return read_text(text, false); }
  Input read(std::string_view first, std::string_view second) const;
  // Read a text, and recognise special tokens in it, such as "[MASK]". transformers recognises special tokens
  // in every text.
  Input read_marked(std::string_view text) const { return read_text(text, true); }

  std::int64_t most_tokens() const { return most_; }  // maximum number of tokens; 0 means no limit
  bool cuts() const { return cut_; }

 private:
  Input read_text(std::string_view text, bool marked) const;
  void require_room(std::size_t tokens) const;

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  bool normalizes_whitespace_;
  std::int32_t source_end_;
  std::int64_t most_;
  bool cut_;
};

}  // namespace regard::tasks
