#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace regard::base {
namespace {

std::atomic<FileHook> file_hook{nullptr};

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ > STDERR_FILENO) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// Open a file for reading and return its descriptor. With O_NONBLOCK in `flags`, opening a pipe does not
// block.
int open_for_reading(const std::filesystem::path& path, int flags = 0) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) throw io_error(path, "cannot open", errno);
  return descriptor;
}

struct stat status_of(int descriptor, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw io_error(path, "cannot read the size", errno);
  if (S_ISDIR(status.st_mode)) throw io_error(path, "cannot read", EISDIR);
  return status;
}

const char* kind_of(const struct stat& status) {
  switch (status.st_mode & S_IFMT) {
    case S_IFIFO:
      return "a pipe (FIFO)";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "an unknown file type";
  }
}

void require_regular(const struct stat& status, const std::filesystem::path& path) {
  if (S_ISREG(status.st_mode)) return;
  throw Error(ErrorKind::io, "not a regular file", {path.string(), -1, -1})
      .found(kind_of(status))
      .expected("a regular file");
}

Error too_long(const std::filesystem::path& path, std::uint64_t max_bytes) {
  return file_error(path.string(), "the file is too long")
      .expected("at most " + std::to_string(max_bytes) + " bytes");
}

}  // namespace

Error io_error(const std::filesystem::path& path, const std::string& action, int error_number) {
  if (path.empty() && error_number == ENOENT)
    return Error(ErrorKind::io, action + ": the name is empty").expected("the name of a file or folder");
  return {is_exhausted(error_number) ? ErrorKind::resource_exhausted : ErrorKind::io,
          action + ": " + std::generic_category().message(error_number),
          {path.string(), -1, -1}};
}

bool is_exhausted(int error_number) noexcept {
  return error_number == ENOMEM || error_number == EMFILE || error_number == ENFILE;
}

void throw_write_error(const std::filesystem::path& path, const std::string& action, int error_number) {
  const Error error = io_error(path, action, error_number);
  if (error_number == EPIPE) throw ClosedPipe(error);
  throw error;
}

FileHook set_file_hook(FileHook hook) noexcept {
  return file_hook.exchange(hook);
}

int planned_failure(const char* step, const std::filesystem::path& path) {
  const FileHook hook = file_hook.load(std::memory_order_relaxed);
  return hook == nullptr ? 0 : hook(step, path);
}

void before_step(const char* step, const std::filesystem::path& path) {
  if (const int error = planned_failure(step, path); error != 0)
    throw io_error(path, std::string("cannot ") + step, error);
}

namespace {

std::string read_all(const Descriptor& file, const struct stat& status, const std::filesystem::path& path,
                     std::uint64_t max_bytes) {
  std::string content;
  const bool sized = S_ISREG(status.st_mode);
  if (sized) {
    if (static_cast<std::uint64_t>(status.st_size) > max_bytes)
      throw too_long(path, max_bytes).found(std::to_string(status.st_size) + " bytes");
    // Reserve more than the size of the file, for the read that detects the end and for padding that a parser
    // may append.
    content.reserve(static_cast<std::size_t>(status.st_size) + 256);
  }
  // Read until the end of the file: pipes have no size, and the size of a regular file may change during the
  // read.
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  while (true) {
    const std::size_t before = content.size();
    const bool has_capacity = sized && content.capacity() > before;
    content.resize(before + (has_capacity ? content.capacity() - before : kPiece));
    const ssize_t count = ::read(file.number(), content.data() + before, content.size() - before);
    if (count < 0 && errno != EINTR) throw io_error(path, "cannot read", errno);
    content.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (content.size() > max_bytes) throw too_long(path, max_bytes);
    if (count == 0) return content;
  }
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const Descriptor file(path == "-" ? STDIN_FILENO : open_for_reading(path));
  return read_all(file, status_of(file.number(), path), path, max_bytes);
}

std::string read_regular_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const Descriptor file(open_for_reading(path, O_NONBLOCK));
  const struct stat status = status_of(file.number(), path);
  require_regular(status, path);
  return read_all(file, status, path, max_bytes);
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const Descriptor file(open_for_reading(path, O_NONBLOCK));
  const struct stat status = status_of(file.number(), path);
  require_regular(status, path);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (mapped == MAP_FAILED) throw io_error(path, "cannot map", errno);
  data_ = static_cast<std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (size_ != 0) ::munmap(data_, size_);
}

void MappedFile::release(std::size_t begin, std::size_t size) const noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t last = std::min(begin + size, size_) / page * page;
  if (first < last) ::madvise(data_ + first, last - first, MADV_DONTNEED);
}

void rename_path(const std::filesystem::path& from, const std::filesystem::path& to) {
  before_step("rename", to);
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw io_error(to, "cannot rename '" + from.string() + "' to this path", errno);
}

void sync_folder(const std::filesystem::path& folder) {
  before_step("sync folder", folder);
  const Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not read (mode -wx) cannot be synced. Its change has been made already.
  if (file.number() < 0 && errno == EACCES) return;
  if (file.number() < 0) throw io_error(folder, "cannot open", errno);
  // Some file systems do not support syncing a folder and return EINVAL. Ignore this error.
  if (::fsync(file.number()) != 0 && errno != EINVAL) throw io_error(folder, "cannot sync", errno);
}

}  // namespace regard::base
