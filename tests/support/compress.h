// Compress bytes for tests of reading compressed files. Without zlib or libzstd in the build, returns an
// empty string.
#pragma once

#include <string>
#include <string_view>

#include "support/namespaces.h"

namespace regard::testing {

std::string gzip(std::string_view bytes);
std::string zstd(std::string_view bytes);

}  // namespace regard::testing
