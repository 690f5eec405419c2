// Texts to what an encoder reads: ids within the tokens that it has room for. Special tokens are added, and
// never read out of the text.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "infer/loaded_model.h"
#include "text/tokenizer.h"

namespace regard::tasks {

// What a model is given for one text or pair.
struct Input {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types;  // token types of a pair; empty: all 0
  bool cut = false;                 // the text went on

  std::int64_t tokens() const { return static_cast<std::int64_t>(ids.size()); }
};

// What every task takes. `most_tokens` limits one text, special tokens included; 0: what the model has room
// for. A longer text is an error unless `cut` allows to leave out what is behind.
struct Options {
  std::int64_t most_tokens = 0;
  bool cut = false;
  Probe* probe = nullptr;  // hears every pass and may ablate heads; not owned, may be null
};

class Reader {
 public:
  // Throws usage where the model has no room for so many tokens.
  Reader(const infer::LoadedModel& loaded, const Options& options);

  // Throws bad_file where the text is too long and must not be cut. A pair loses tokens of the longer text
  // first, as Hugging Face's longest_first does.
  Input read(std::string_view text) const { return read_text(text, false); }
  Input read(std::string_view first, std::string_view second) const;
  // The same where special tokens in the text are meant as such ("[MASK]"), as transformers reads every text.
  Input read_marked(std::string_view text) const { return read_text(text, true); }

  std::int64_t most_tokens() const { return most_; }  // 0: no limit
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
