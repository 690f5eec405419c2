// Implementation of AtomicFile and AppendedFile of base/file.h.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <utility>

#include "base/file.h"
#include "base/parse_number.h"

namespace regard::base {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 16;  // size of the buffer in bytes
constexpr int kMostLinks = 40;  // Linux follows at most this many symbolic links in a path
std::atomic<WriteStop> write_stop{nullptr};

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

void stop_if_asked() {
  const WriteStop stopped = write_stop.load(std::memory_order_relaxed);
  if (stopped != nullptr && stopped()) throw WriteStopped();
}

std::string link_target(const std::filesystem::path& link) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  if (size < 0) throw io_error(link, "cannot read the link", errno);
  return {text.data(), static_cast<std::size_t>(size)};
}

// Return true if the link is an entry of /proc/PID/fd, such as /dev/fd/1 or the target of /dev/stdout. Such a
// link refers to an open file, which may have no path.
bool is_link_to_open_file(const std::filesystem::path& link) {
  struct statfs system {};
  return ::statfs(folder_of(link).c_str(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC &&
         folder_of(link).filename() == "fd";
}

// Return the number of this process's descriptor to which the link refers; -1 if there is none.
int descriptor_of(const std::filesystem::path& link) {
  const int descriptor = parse_number<int>(link.filename().string()).value_or(-1);
  struct stat open {
  }, named{};
  const bool same = ::fstat(descriptor, &open) == 0 && ::stat(link.c_str(), &named) == 0 &&
                    open.st_dev == named.st_dev && open.st_ino == named.st_ino;
  return same ? descriptor : -1;
}

// Duplicate an open descriptor; return -1 on failure. Both descriptors share the file offset, so no write
// overwrites another.
int duplicate(int descriptor) {
  if (descriptor == STDOUT_FILENO) std::fflush(stdout);
  return ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int open_in_place(const std::filesystem::path& path, int more_flags) {
  while (true) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | more_flags);
    if (descriptor >= 0 || errno != EINTR) return descriptor;
    stop_if_asked();  // opening a FIFO blocks until it has a reader
  }
}

// Copy the permissions and the owner of the file that will be replaced. If the owner or the group cannot be
// set, reduce the permissions so that no user gets more permissions than before.
void keep_attributes(int descriptor, const struct stat& before) {
  struct stat now {};
  if (::fstat(descriptor, &now) != 0) return;
  mode_t mode = before.st_mode & 07777;
  const bool same = now.st_uid == before.st_uid && now.st_gid == before.st_gid;
  if (!same && ::fchown(descriptor, before.st_uid, before.st_gid) != 0) {
    mode &= 01777;
    const bool same_group =
        now.st_gid == before.st_gid || ::fchown(descriptor, static_cast<uid_t>(-1), before.st_gid) == 0;
    if (!same_group) mode = (mode & ~mode_t{070}) | ((mode & 07) << 3 & mode);
  }
  ::fchmod(descriptor, mode);
}

void write_all(int descriptor, const std::filesystem::path& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    stop_if_asked();
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_write_error(path, "cannot write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace

WriteStop set_write_stop(WriteStop stop) noexcept {
  return write_stop.exchange(stop);
}

// Return the path to replace, with symbolic links resolved. If the path cannot be replaced (a device or
// pipe), open it for writing in place.
std::filesystem::path AtomicFile::resolve() {
  struct stat status {};
  if (path_.empty()) throw io_error(path_, "cannot create the file", ENOENT);
  if (path_ == "-") {
    descriptor_ = duplicate(STDOUT_FILENO);
    if (descriptor_ < 0) throw io_error("standard output", "cannot open", errno);
    return path_;
  }
  // The kernel may refuse to follow a link (fs.protected_symlinks). stat() then fails, and the path cannot be
  // written.
  if (::stat(path_.c_str(), &status) != 0 && errno != ENOENT)
    throw io_error(path_, "cannot create the file", errno);
  std::filesystem::path path = path_;
  for (int links = 0; ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode); ++links) {
    if (links == kMostLinks) throw io_error(path_, "cannot create the file", ELOOP);
    if (is_link_to_open_file(path)) {
      const int own = descriptor_of(path);
      descriptor_ = own >= 0 ? duplicate(own) : open_in_place(path, O_APPEND);
      if (descriptor_ < 0) throw io_error(path_, "cannot open", errno);
      return path;
    }
    const std::filesystem::path target = link_target(path);
    path = target.is_absolute() ? target : folder_of(path) / target;
  }
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return path;
  if (S_ISDIR(status.st_mode)) throw io_error(path_, "cannot create the file", EISDIR);
  descriptor_ = open_in_place(path, 0);
  if (descriptor_ < 0) throw io_error(path_, "cannot open", errno);
  return path;
}

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)), target_(resolve()) {
  if (descriptor_ >= 0) return;
  struct stat before {};
  const bool replaces = ::lstat(target_.c_str(), &before) == 0;
  // rename() would replace a read-only file without an error, so refuse such a file here.
  if (replaces && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
    throw io_error(path_, "cannot replace the file", errno);
  temporary_.emplace(target_, TemporaryEntry::Kind::file);
  descriptor_ = ::fcntl(temporary_->descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor_ < 0) throw io_error(path_, "cannot create the file", errno);
  if (replaces) keep_attributes(descriptor_, before);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  before_step("write", path_);
  hash_.add(bytes);
  size_ += bytes.size();
  const bool large = bytes.size() >= kBuffer || !temporary_;
  if (large || buffer_.size() + bytes.size() > kBuffer) flush();
  if (large) return write_all(descriptor_, path_, bytes);
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void AtomicFile::flush() {
  write_all(descriptor_, path_, bytes_of(buffer_));
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  before_step("sync", path_);
  // Devices and pipes cannot be synced, so ignore these errors for a file that is written in place.
  const bool synced = ::fsync(descriptor_) == 0 || (!temporary_ && (errno == EINVAL || errno == EROFS));
  if (!synced) throw io_error(path_, "cannot sync", errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_write_error(path_, "cannot close", errno);
  if (!temporary_) return;
  rename_path(temporary_->name(), target_);
  ::close(temporary_->keep());
  temporary_.reset();
  sync_folder(folder_of(target_));
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, bytes_of(text));
}

AppendedFile::AppendedFile(std::filesystem::path path) : path_(std::move(path)) {
  before_step("create", path_);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw io_error(path_, "cannot open", errno);
}

AppendedFile::~AppendedFile() {
  ::close(descriptor_);
}

void AppendedFile::write(std::string_view text) {
  before_step("write", path_);
  write_all(descriptor_, path_, bytes_of(text));
}

}  // namespace regard::base
