// TokenStore: many sequences of token ids, end to end in memory.
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

  std::uint64_t fingerprint() const;  // of all ids and where sequences end

 private:
  std::vector<std::int32_t> ids_;
  std::vector<std::size_t> offsets_{0};
};

// Source and target of a parallel corpus, pair by pair.
struct PairStore {
  TokenStore source, target;
  std::size_t size() const { return source.size(); }
};

}  // namespace regard::data
