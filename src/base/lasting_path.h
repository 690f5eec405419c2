// Paths that stay valid if the program changes its working directory.
#pragma once

#include <filesystem>

#include "base/namespaces.h"

namespace regard::base {

// Return the absolute path. An empty path is returned unmodified, and so is any path if the working directory
// does not exist.
std::filesystem::path lasting_path(const std::filesystem::path& path);

}  // namespace regard::base
