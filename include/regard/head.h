// The name of an attention head.
#pragma once

#include <cstdint>

namespace regard {

// Kind of attention: encoder self-attention, decoder self-attention, or cross-attention from the decoder to
// the encoder's output.
enum class Kind : std::uint8_t { encoder, decoder, cross };

struct HeadName {
  Kind kind = Kind::encoder;
  std::int64_t layer = 0, head = 0;  // from 0
};

}  // namespace regard
