#include "base/temporary.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/file.h"

namespace regard::base {
namespace {

// Some file systems limit names to 143 bytes; the other parts of a temporary name take fewer than 40 bytes.
constexpr std::size_t kLongestPart = 64;
// Maximum number of processes that write to one path at the same time.
constexpr int kSlots = 256;

bool is_folder(TemporaryEntry::Kind kind) {
  return kind == TemporaryEntry::Kind::folder;
}

int create(const std::filesystem::path& name, TemporaryEntry::Kind kind) {
  // open() with O_CREAT and mkdir() apply the umask, so this code need not read it. A process can read its
  // umask only by changing it for all threads.
  if (!is_folder(kind))
    return ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (::mkdir(name.c_str(), 0777) != 0) return -1;
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor >= 0) return descriptor;
  const int error = errno;
  // Another process may have removed the folder as a leftover, because the folder is not locked yet. In this
  // case report the name as used, so that the caller tries the next name.
  if (error != ENOENT) ::rmdir(name.c_str());
  errno = error == ENOENT ? EEXIST : error;
  return -1;
}

// Return true if the name still refers to the opened file. Another process may have removed or replaced the
// file.
bool still_named(int descriptor, const std::filesystem::path& name) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(name.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

// Lock the entry; return false if another process has locked or removed it. On a file system without locks,
// the process that has created the entry owns the name.
bool lock(int descriptor, const std::filesystem::path& name) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return still_named(descriptor, name);
}

void remove_abandoned(const std::filesystem::path& name) {
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  std::error_code ignored;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && still_named(descriptor, name))
    std::filesystem::remove_all(name, ignored);
  ::close(descriptor);
}

// Return the longest prefix of `text` of at most `size` bytes that does not split a UTF-8 sequence.
std::string beginning(const std::string& text, std::size_t size) {
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

bool is_leftover(const std::filesystem::path& name) {
  const std::string text = name.filename().string();
  return text.starts_with('.') && text.find(kLeftoverMark) != std::string::npos;
}

std::filesystem::path temporary_beside(const std::filesystem::path& path, const std::string& suffix) {
  std::string part = path.filename().string();
  if (part.size() > kLongestPart) part = beginning(part, kLongestPart - 16) + hex(xxh3(part));
  return path.parent_path() / ("." + part + kLeftoverMark + suffix);
}

TemporaryEntry::TemporaryEntry(const std::filesystem::path& path, Kind kind) {
  before_step(is_folder(kind) ? "make folder" : "create", path);
  for (int slot = 0; slot < kSlots; ++slot) {
    const std::filesystem::path name = temporary_beside(path, std::to_string(slot));
    int descriptor = create(name, kind);
    if (descriptor < 0 && errno == EEXIST) {
      remove_abandoned(name);
      descriptor = create(name, kind);
    }
    if (descriptor < 0 && errno == EEXIST) continue;  // another process uses this name: try the next one
    if (descriptor < 0) throw io_error(path, "cannot create a temporary file or folder", errno);
    if (lock(descriptor, name)) {
      name_ = name;
      descriptor_ = descriptor;
      return;
    }
    ::close(descriptor);  // another process has removed the entry as a leftover before it was locked
  }
  throw io_error(path, "cannot find a free temporary name", EEXIST);
}

TemporaryEntry::~TemporaryEntry() {
  std::error_code ignored;
  if (!name_.empty()) std::filesystem::remove_all(name_, ignored);
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace regard::base
