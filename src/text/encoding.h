// Encoding: the ids of a text with offsets, masks and types. Functions to join, truncate and pad encodings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace regard::text {

// A range [begin, end), in code points or bytes of the original text.
struct Offsets {
  std::uint32_t begin = 0, end = 0;
  friend bool operator==(const Offsets&, const Offsets&) = default;
};

struct Encoding {
  // Each vector except `overflowing` has one entry per token.
  std::vector<std::int32_t> ids;
  std::vector<std::string> tokens;
  // offsets in code points of the original text; (0, 0) for tokens from the post-processor and for padding
  std::vector<Offsets> offsets;
  std::vector<Offsets> byte_offsets;  // offsets in bytes of the original text
  std::vector<std::int32_t> type_ids;
  // for each token, 1 if it was added by the post-processor or as padding
  std::vector<std::uint8_t> special_mask;
  std::vector<std::uint8_t> attention_mask;  // for each position, 1 for a token and 0 for padding
  // For each token, the index of its word from the pre-tokenizer; −1 for tokens from the post-processor and
  // for padding.
  std::vector<std::int32_t> words;
  // the tokens that truncation removed, in parts that overlap by `stride` tokens
  std::vector<Encoding> overflowing;

  std::size_t size() const noexcept { return ids.size(); }
  void push(std::int32_t id, std::string token, std::int32_t type, bool special);
  // Return tokens [begin, end), without the overflowing parts.
  Encoding slice(std::size_t begin, std::size_t end) const;
};

enum class Side { left, right };

// Append `next` to `first`. `overflowing` of the result contains all other combinations: `first` or one of
// its overflowing parts, followed by `next` or one of its overflowing parts, as in Hugging Face's library.
void append(Encoding& first, const Encoding& next);
Encoding join(const std::vector<Encoding>& parts);

struct Truncation {
  enum class Strategy { longest_first, only_first, only_second };
  std::size_t max_length = 512;  // maximum number of tokens, including special tokens
  std::size_t stride = 0;        // overlap of consecutive parts of a truncated text, in tokens
  Strategy strategy = Strategy::longest_first;
  Side direction = Side::right;  // side at which tokens are removed
};

// Truncate to `max_length` tokens and move the removed tokens to `overflowing`. Throws usage if stride >=
// max_length > 0.
void truncate(Encoding& encoding, std::size_t max_length, std::size_t stride, Side direction);
// Truncate one encoding or a pair (`second` may be null). Throws usage if the strategy selects a missing text
// or if the stride is too large (see truncate()). Throws invalid_input if the selected text is too short to
// reduce the total to max_length tokens.
void truncate_pair(Encoding& first, Encoding* second, const Truncation& how);

struct Padding {
  std::size_t fixed_length = 0;  // length in tokens; 0 means the length of the longest encoding of the batch
  std::size_t multiple_of = 0;   // if not 0, the length is rounded up to a multiple of this number
  Side direction = Side::right;
  std::int32_t id = 0, type_id = 0;
  std::string token = "[PAD]";
};

void pad(std::span<Encoding> batch, const Padding& how);

}  // namespace regard::text
