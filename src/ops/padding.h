// The door between padded batches from outside and ragged ones inside: [batch, length, …] with a mask becomes
// [tokens, …] and back, zeros where nothing was.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/ragged.h"
#include "regard/tensor.h"

namespace regard {

class Padding {
 public:
  // kept [batch × length]: true where a token stands; holes and padding on either side may be. Tokens keep
  // the column they stand in as position.
  Padding(std::int64_t batch, std::int64_t length, std::span<const std::uint8_t> kept);
  static Padding none(std::int64_t batch, std::int64_t length);

  Ragged shape() const { return buffer_.view(); }
  std::int64_t tokens() const { return static_cast<std::int64_t>(rows_.size()); }
  std::span<const std::int32_t> rows() const { return rows_; }  // [tokens]: row in [batch × length]

  Tensor remove(const Tensor& padded) const;   // f32 [batch, length, features] → [tokens, features]
  Tensor restore(const Tensor& ragged) const;  // [tokens, features] → [batch, length, features]

 private:
  std::int64_t batch_, length_;
  RaggedBuffer buffer_;
  std::vector<std::int32_t> rows_;
};

}  // namespace regard
