#include "vectors/spill.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/file.h"

namespace regard::vectors {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

}  // namespace

SpillFile::SpillFile(const std::filesystem::path& folder) : folder_(folder.empty() ? "." : folder) {
  // With O_TMPFILE the file never has a name, so it is removed even if the process is killed. Some file
  // systems do not support O_TMPFILE.
  descriptor_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor_ >= 0) return;
  // Kernels and file systems without O_TMPFILE return one of these errors (open(2)).
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)
    throw io_error(folder_, "cannot create a temporary file", errno);
  std::string name = (folder_ / (std::string(kLeftoverMark) + "XXXXXX")).string();
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) throw io_error(folder_, "cannot create a temporary file", errno);
  ::unlink(name.c_str());
}

SpillFile::~SpillFile() {
  unmap();
  ::close(descriptor_);
}

void SpillFile::unmap() noexcept {
  if (map_ != nullptr) ::munmap(map_, mapped_);
  map_ = nullptr;
  mapped_ = 0;
}

void SpillFile::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t written = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw io_error(folder_, "cannot write a temporary file", errno);
    done += static_cast<std::size_t>(written);
  }
  buffer_.clear();
}

void SpillFile::append(std::span<const std::byte> bytes) {
  unmap();
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  size_ += bytes.size();
  if (buffer_.size() >= kBuffer) flush();
}

std::span<const std::byte> SpillFile::bytes() {
  if (size_ == 0) return {};
  if (map_ == nullptr) {
    flush();
    void* map = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_, 0);
    if (map == MAP_FAILED) throw io_error(folder_, "cannot map a temporary file", errno);
    map_ = static_cast<std::byte*>(map);
    mapped_ = size_;
  }
  return {map_, size_};
}

}  // namespace regard::vectors
