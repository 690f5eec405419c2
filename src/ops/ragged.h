// Ragged: the shape of a batch of concatenated sequences without padding. RaggedBuffer builds a Ragged.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/namespaces.h"

namespace regard::ops {

struct Ragged {
  std::span<const std::int32_t> offsets;    // [sequences + 1], offsets[0] = 0
  std::span<const std::int32_t> positions;  // [tokens]: each token's position in its sequence
  std::span<const std::uint64_t>
      sequence_index;  // [tokens]: index of the token's sequence in the global batch

  std::int64_t sequences() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t tokens() const { return offsets.empty() ? 0 : offsets.back(); }
};

// Owns the arrays to which a Ragged refers. add() appends a sequence. clear() keeps the memory, so that later
// batches need no allocation.
class RaggedBuffer {
 public:
  RaggedBuffer() { clear(); }

  void clear() {
    offsets_.assign(1, 0);
    positions_.clear();
    sequence_index_.clear();
  }

  // Append a sequence of `length` tokens at positions first_position, first_position + 1, …. `index` is its
  // index in the global batch; it only selects the sequence's random draws (dropout).
  void add(std::int64_t length, std::uint64_t index, std::int32_t first_position = 0) {
    for (std::int64_t i = 0; i < length; ++i) {
      positions_.push_back(first_position + static_cast<std::int32_t>(i));
      sequence_index_.push_back(index);
    }
    offsets_.push_back(offsets_.back() + static_cast<std::int32_t>(length));
  }

  // Append a sequence with the given positions.
  void add(std::span<const std::int32_t> positions, std::uint64_t index) {
    positions_.insert(positions_.end(), positions.begin(), positions.end());
    sequence_index_.insert(sequence_index_.end(), positions.size(), index);
    offsets_.push_back(static_cast<std::int32_t>(positions_.size()));
  }

  // The result is valid until the next add() or clear().
  Ragged view() const { return {offsets_, positions_, sequence_index_}; }

 private:
  std::vector<std::int32_t> offsets_, positions_;
  std::vector<std::uint64_t> sequence_index_;
};

}  // namespace regard::ops
