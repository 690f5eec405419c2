// Limits the memory that large request bodies use in the whole server. A limit per client is not possible,
// because connections read bodies before the client's key is known.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

namespace regard::serve {

// Thread-safe. The object must be owned by a std::shared_ptr.
class LargeBodies : public std::enable_shared_from_this<LargeBodies> {
 public:
  // maximum size in bytes of a small body; small bodies do not count towards the limit
  static constexpr std::size_t kLarge = std::size_t{1} << 20;

  // `most` is the maximum total bytes of all large bodies.
  explicit LargeBodies(std::size_t most) : most_(most) {}

  // Reserve memory for a body of `bytes` bytes until the returned pointer is destroyed. The pointer is null
  // for a small body, which needs no reservation. Return std::nullopt if the limit would be exceeded. A large
  // body may exceed the limit if there is no other large body.
  std::optional<std::shared_ptr<const void>> reserve(std::size_t bytes) {
    if (bytes <= kLarge) return nullptr;
    if (bytes_.fetch_add(bytes) + bytes > std::max(most_, bytes)) {
      bytes_ -= bytes;
      return std::nullopt;
    }
    return std::shared_ptr<const void>(
        this, [self = shared_from_this(), bytes](const void*) { self->bytes_ -= bytes; });
  }

 private:
  std::size_t most_;
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace regard::serve
