// TokenStore: many sequences of token ids, contiguous in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace regard::data {

class TokenStore {
 public:
  std::size_t size() const { return offsets_.size() - 1; }
  std::size_t tokens() const { return ids_.size(); }
  std::span<const std::int32_t> operator[](std::size_t index) const {
    return std::span(ids_).subspan(offsets_[index], length(index));
  }
  std::size_t length(std::size_t index) const { return offsets_[index + 1] - offsets_[index]; }
  std::span<const std::int32_t> ids() const { return ids_; }

  void add(std::span<const std::int32_t> ids) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    offsets_.push_back(ids_.size());
  }

  std::uint64_t fingerprint() const;  // hash of all ids and sequence ends

 private:
  std::vector<std::int32_t> ids_;
  std::vector<std::size_t> offsets_{0};
};

// A parallel corpus: pair i is source[i] and target[i].
struct PairStore {
  TokenStore source, target;
  std::size_t size() const { return source.size(); }
};

}  // namespace regard::data
