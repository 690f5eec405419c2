// Counts of token pairs, in a flat hash table from (left id, right id) to a count.
#pragma once

#include <cstdint>
#include <vector>

namespace regard::text {

class PairCounts {
 public:
  // Return the count of a pair; 0 if the pair was never added.
  std::int64_t of(std::int32_t left, std::int32_t right) const noexcept;
  // Add `change` to the count of a pair and return the new count.
  std::int64_t add(std::int32_t left, std::int32_t right, std::int64_t change);
  std::size_t size() const noexcept { return used_; }

 private:
  struct Slot {
    std::uint64_t key = kFree;
    std::int64_t count = 0;
  };
  // marks a free slot; not a possible key, because ids are not negative
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  static std::uint64_t key(std::int32_t left, std::int32_t right) noexcept {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t place_of(std::uint64_t key) const noexcept;
  void grow();

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  int shift_ = 64;
};

}  // namespace regard::text
