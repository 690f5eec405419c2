// XXH3: a fast 64-bit checksum that detects accidental corruption (torn writes, bad disks), not attacks.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

inline std::uint64_t xxh3(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}
inline std::uint64_t xxh3(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

// Streaming XXH3. The value equals xxh3() of the concatenated pieces.
class Xxh3Stream {
 public:
  Xxh3Stream() : state_(XXH3_createState()) {
    if (!state_) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }
  void add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

// Return the value as sixteen lower-case hexadecimal digits.
inline std::string hex(std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = kDigits[value & 15u];
  return text;
}

}  // namespace regard::base
