#include "support/shared_data.h"

#include <cstdlib>

namespace regard::testing {

std::filesystem::path build_folder() {
  return REGARD_BUILD_DIR;
}

std::filesystem::path source_folder() {
  return REGARD_SOURCE_DIR;
}

const char* built_program() {
  return REGARD_PROGRAM;
}

std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(REGARD_TEST_DATA) / name;
}

std::filesystem::path shared_folder() {
  const char* named = std::getenv("REGARD_SHARED");
  return named != nullptr ? std::filesystem::path(named)
                          : std::filesystem::path(REGARD_SOURCE_DIR) / ".." / "shared";
}

bool shared_available() {
  return std::filesystem::is_directory(shared_folder() / "data");
}

}  // namespace regard::testing
