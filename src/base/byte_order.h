// Unsigned numbers in the byte order of a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/namespaces.h"

namespace regard::base {

// Return the number in `count` bytes, at most 8, whose first byte is the least significant.
inline std::uint64_t little_endian(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Return the number in `count` bytes, at most 8, whose first byte is the most significant.
inline std::uint64_t big_endian(const char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace regard::base
