// SHA-256 (FIPS 180-4), for digests of secrets and for comparison with published digests.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/namespaces.h"

namespace regard::base {

std::string sha256_digest(std::span<const std::byte> bytes);  // returns 32 bytes
std::string sha256(std::span<const std::byte> bytes);         // returns 64 lower-case hexadecimal digits

}  // namespace regard::base
