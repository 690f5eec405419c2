// SHA-256 (FIPS 180-4), for comparing with digests that others published.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace regard::testing {

std::string sha256(std::span<const std::byte> bytes);  // 64 lower-case hexadecimal digits

}  // namespace regard::testing
