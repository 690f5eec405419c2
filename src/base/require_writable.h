// Checks an output path before a long computation.
#pragma once

#include <filesystem>

namespace regard {

// Throw the error that AtomicFile(path) would throw now. A path that would be written in place ("-", a
// device, a FIFO, a socket) is not opened. Leaves an existing file unmodified and no file behind.
void require_writable(const std::filesystem::path& path);

}  // namespace regard
