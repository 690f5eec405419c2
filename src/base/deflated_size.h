// Size of data after compression by zlib, as a measure of repetition.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

// Return the number of bytes of zlib.compress(data) (RFC 1950, default level). Returns std::nullopt if regard
// was built without zlib.
std::optional<std::size_t> deflated_size(std::string_view data);

}  // namespace regard::base
