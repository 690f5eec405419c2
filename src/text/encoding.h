// What a text became: ids with all that is known about each, and how encodings are joined, cut and padded.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace regard::text {

// [begin, end), in code points or bytes of the text that was given.
struct Offsets {
  std::uint32_t begin = 0, end = 0;
  friend bool operator==(const Offsets&, const Offsets&) = default;
};

struct Encoding {
  // One entry a token in each.
  std::vector<std::int32_t> ids;
  std::vector<std::string> tokens;
  std::vector<Offsets> offsets;       // in code points of the original text; (0, 0) for what was added
  std::vector<Offsets> byte_offsets;  // the same in bytes
  std::vector<std::int32_t> type_ids;
  std::vector<std::uint8_t> special_mask;    // 1: put there by the post-processor or as padding
  std::vector<std::uint8_t> attention_mask;  // 0: padding
  // Which piece of its own text (as the pre-tokenizer cut it) each token is of; −1 for what was added.
  std::vector<std::int32_t> words;
  std::vector<Encoding> overflowing;  // what truncation cut off, in parts with `stride` tokens in common

  std::size_t size() const noexcept { return ids.size(); }
  void push(std::int32_t id, std::string token, std::int32_t type, bool special);
  // Tokens [begin, end) without the overflowing parts.
  Encoding slice(std::size_t begin, std::size_t end) const;
};

enum class Side { left, right };

// Appends `next` to `first`; overflowing parts are combined as Hugging Face does.
void append(Encoding& first, const Encoding& next);
Encoding join(const std::vector<Encoding>& parts);

struct Truncation {
  enum class Strategy { longest_first, only_first, only_second };
  std::size_t max_length = 512;  // special tokens included
  std::size_t stride = 0;        // tokens that neighbouring parts share
  Strategy strategy = Strategy::longest_first;
  Side direction = Side::right;  // where tokens are cut off
};

// Cuts to `max_length` tokens; the rest goes to `overflowing`. Throws usage if stride >= max_length > 0.
void truncate(Encoding& encoding, std::size_t max_length, std::size_t stride, Side direction);
// Cuts one encoding or a pair (`second` may be null). Throws usage where the strategy cannot reach the
// length.
void truncate_pair(Encoding& first, Encoding* second, const Truncation& how);

struct Padding {
  std::size_t fixed_length = 0;  // 0: to the longest of the batch
  std::size_t multiple_of = 0;   // 0: of anything
  Side direction = Side::right;
  std::int32_t id = 0, type_id = 0;
  std::string token = "[PAD]";
};

void pad(std::span<Encoding> batch, const Padding& how);

}  // namespace regard::text
