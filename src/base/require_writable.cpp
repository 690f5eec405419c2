#include "base/require_writable.h"

#include <system_error>

#include "base/file.h"

namespace regard::base {

void require_writable(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  const bool in_place = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                        !std::filesystem::is_directory(status);
  if (in_place || path == "-") return;
  const AtomicFile file(path);
}

}  // namespace regard::base
