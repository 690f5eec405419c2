#include "base/lasting_path.h"

#include <system_error>

namespace regard::base {

std::filesystem::path lasting_path(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return path.empty() || error ? path : absolute;
}

}  // namespace regard::base
