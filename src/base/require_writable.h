// Checks an output path before a long computation.
#pragma once

#include <filesystem>

#include "base/namespaces.h"

namespace regard::base {

// Throw the error that the constructor of AtomicFile would throw for `path`, without modifying an existing
// file or leaving a new one. A path that would be written in place ("-", a device, a FIFO, a socket) is not
// opened.
void require_writable(const std::filesystem::path& path);

}  // namespace regard::base
