// SHA-256 (FIPS 180-4), for comparison with published digests.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace regard::testing {

std::string sha256(std::span<const std::byte> bytes);  // returns 64 lower-case hexadecimal digits

}  // namespace regard::testing
