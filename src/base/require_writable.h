// Checks an output path before a long computation.
#pragma once

#include <filesystem>

#include "base/namespaces.h"

namespace regard::base {

// Throw the error that constructing AtomicFile(path) would throw now, if any. A path that would be written in
// place ("-", a device, a FIFO, a socket) is not opened. An existing file stays unmodified, and no new file
// remains.
void require_writable(const std::filesystem::path& path);

}  // namespace regard::base
