// What one side of a model reads, as it comes from outside: [batch, length] with a mask, and ragged inside.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/network.h"
#include "ops/padding.h"

namespace regard::inspect {

using TensorMap = std::map<std::string, Tensor>;

// The names under which a side's inputs come; those that are not there are made up as Hugging Face's models
// do.
struct SideNames {
  std::string ids = "input_ids", mask = "attention_mask", types = "token_type_ids",
              positions = "position_ids";
};

class PaddedSide {
 public:
  // compute_padding: masked tokens are computed too, though nothing attends to them, as PyTorch does. Throws
  // usage where shapes or values do not fit.
  PaddedSide(const TensorMap& inputs, const SideNames& names, const PositionRule& rule, bool compute_padding);
  // `batch` sequences of `length` tokens without padding, of which the ids are not asked.
  PaddedSide(std::int64_t batch, std::int64_t length);

  TokenBatch batch() const;
  std::int64_t sequences() const { return batch_; }
  std::int64_t length() const { return length_; }
  const std::uint8_t* attended() const { return attended_.empty() ? nullptr : attended_.data(); }

  Tensor remove(const Tensor& padded) const { return padding_.remove(padded); }
  // Labels [batch, length] of the tokens; `shift`: each token gets the label of the column behind it.
  std::vector<std::int32_t> labels(const Tensor& padded, bool shift) const;

  // [tokens, features] → [batch, length, features], zeros at padded places (with keep_padding: only where
  // nothing was computed).
  Tensor restore(const Tensor& ragged, bool keep_padding) const;
  // Weights of one sequence [heads, queries, keys] into [batch, heads, length, keys.length()] likewise.
  void place(const Tensor& weights, std::int64_t sequence, const PaddedSide& keys, bool keep_padding,
             Tensor& into) const;

 private:
  bool shown(std::size_t place, bool keep_padding) const;
  std::int64_t batch_ = 0, length_ = 0;
  std::vector<std::uint8_t> mask_;      // [batch × length]
  std::vector<std::uint8_t> attended_;  // the same where padding is computed
  Padding padding_;
  std::vector<std::int32_t> ids_, types_;  // [tokens]
  RaggedBuffer shape_;
};

}  // namespace regard::inspect
