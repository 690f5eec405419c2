#include "serve/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "regard/error.h"

namespace regard::serve {

MemoryFile::MemoryFile(std::string_view content) : descriptor_(::memfd_create("request", MFD_CLOEXEC)) {
  bool written = descriptor_ >= 0;
  while (written && !content.empty()) {
    const ssize_t count = ::write(descriptor_, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    written = count > 0;
    if (written) content.remove_prefix(static_cast<std::size_t>(count));
  }
  if (!written) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw resource_error("the system cannot create an in-memory file for the uploaded file");
  }
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

MemoryFile::~MemoryFile() {
  ::close(descriptor_);
}

}  // namespace regard::serve
