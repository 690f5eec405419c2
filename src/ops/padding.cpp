#include "ops/padding.h"

#include <cstring>

#include "base/counted.h"
#include "ops/check.h"
#include "regard/error.h"

namespace regard::ops {

Padding::Padding(std::int64_t batch, std::int64_t length, std::span<const std::uint8_t> kept)
    : batch_(batch), length_(length) {
  if (static_cast<std::int64_t>(kept.size()) != batch * length)
    throw usage_error("the mask does not match the positions of the batch")
        .found(counted(kept.size(), "element"))
        .expected(std::to_string(batch * length) + " elements, one for each position");
  std::vector<std::int32_t> positions;
  for (std::int64_t b = 0; b < batch; ++b) {
    positions.clear();
    for (std::int64_t column = 0; column < length; ++column) {
      const std::int64_t row = b * length + column;
      if (kept[static_cast<std::size_t>(row)] == 0) continue;
      positions.push_back(static_cast<std::int32_t>(column));
      rows_.push_back(static_cast<std::int32_t>(row));
    }
    buffer_.add(positions, static_cast<std::uint64_t>(b));
  }
}

Padding Padding::none(std::int64_t batch, std::int64_t length) {
  const std::vector<std::uint8_t> kept(static_cast<std::size_t>(batch * length), std::uint8_t{1});
  return {batch, length, kept};
}

Tensor Padding::remove(const Tensor& padded) const {
  if (padded.shape().rank() < 2 || padded.shape()[0] != batch_ || padded.shape()[1] != length_ ||
      !padded.contiguous())
    throw usage_error("a padded batch has a wrong shape or is not contiguous")
        .found(described(padded))
        .expected("contiguous [" + std::to_string(batch_) + ", " + std::to_string(length_) + ", …]");
  const std::int64_t features = batch_ * length_ == 0 ? 0 : padded.elements() / (batch_ * length_);
  const Tensor ragged = Tensor::empty({tokens(), features});
  for (std::int64_t t = 0; t < tokens(); ++t)
    std::memcpy(ragged.row(t), padded.f32() + rows_[static_cast<std::size_t>(t)] * features,
                static_cast<std::size_t>(features) * sizeof(float));
  return ragged;
}

Tensor Padding::restore(const Tensor& ragged) const {
  if (ragged.rows() != tokens())
    throw usage_error("a ragged batch has a wrong number of rows")
        .found(counted(ragged.rows(), "row"))
        .expected(std::to_string(tokens()) + " rows, one for each token");
  const std::int64_t features = ragged.columns();
  const Tensor padded = Tensor::zeros({batch_, length_, features});
  for (std::int64_t t = 0; t < tokens(); ++t)
    std::memcpy(padded.f32() + rows_[static_cast<std::size_t>(t)] * features, ragged.row(t),
                static_cast<std::size_t>(features) * sizeof(float));
  return padded;
}

}  // namespace regard::ops
