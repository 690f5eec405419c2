// Tokens and their ids: both ways, with holes allowed, in two flat arrays and one hash table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::text {

class Vocabulary {
 public:
  static constexpr std::int32_t kMaxId = 1 << 26;  // a hole costs memory: refuse absurd ids

  void reserve(std::size_t tokens);
  // A token given twice keeps the later id, as in the reference; an id given twice keeps both tokens to look
  // up and the later one to write. Throws usage for an id outside [0, kMaxId].
  void add(std::string_view token, std::int32_t id);

  std::optional<std::int32_t> find(std::string_view token) const noexcept;
  // Nothing for a hole or an id beyond the end.
  std::optional<std::string_view> token(std::int32_t id) const noexcept;
  std::size_t size() const noexcept { return used_; }  // different tokens
  std::int32_t end_id() const noexcept { return static_cast<std::int32_t>(by_id_.size()); }  // 1 + largest id

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;  // -1: free
    std::uint32_t begin = 0, size = 0;
  };
  struct Entry {
    std::uint32_t begin = 0, size = kHole;
  };
  static constexpr std::uint32_t kHole = ~std::uint32_t{0};
  void grow(std::size_t slots);
  std::size_t place_of(std::string_view token, std::uint32_t hash) const noexcept;

  std::string bytes_;
  std::vector<Slot> slots_;
  std::vector<Entry> by_id_;
  std::size_t used_ = 0;
};

}  // namespace regard::text
