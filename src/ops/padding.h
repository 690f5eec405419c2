// Conversion between padded batches [batch, length, …] with a mask and ragged batches [tokens, …]. The
// conversion to a padded batch fills padding with zeros.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/namespaces.h"
#include "ops/ragged.h"
#include "regard/tensor.h"

namespace regard::ops {

class Padding {
 public:
  // `kept` [batch × length] is nonzero for tokens and 0 for padding, in any order within a row; a token's
  // position is its column. Throws usage if `kept` has another size.
  Padding(std::int64_t batch, std::int64_t length, std::span<const std::uint8_t> kept);
  static Padding none(std::int64_t batch, std::int64_t length);

  Ragged shape() const { return buffer_.view(); }
  std::int64_t tokens() const { return static_cast<std::int64_t>(rows_.size()); }
  std::span<const std::int32_t> rows() const { return rows_; }  // [tokens]: row in [batch × length]

  // convert contiguous f32 [batch, length, …] to [tokens, features]
  Tensor remove(const Tensor& padded) const;
  Tensor restore(const Tensor& ragged) const;  // convert [tokens, features] to [batch, length, features]

 private:
  std::int64_t batch_, length_;
  RaggedBuffer buffer_;
  std::vector<std::int32_t> rows_;
};

}  // namespace regard::ops
