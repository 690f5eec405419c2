#include "base/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"

namespace regard::base {
namespace {

void remove_tree(const std::filesystem::path& path) {
  before_step("remove", path);
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) throw io_error(path, "cannot remove", error.value());
}

// Suffix of the temporary name of a folder that is being replaced in two steps.
constexpr const char* kReplaced = "replaced";

Error is_taken(const std::filesystem::path& path) {
  return usage_error("the output path exists already")
      .found(path.string())
      .remedy("Choose another path, or remove the existing file or folder");
}

// Call renameat2(). Returns false if the system or the file system does not support `flag`. Throws usage if
// `flag` is RENAME_NOREPLACE and `to` exists.
bool rename_with(unsigned flag, const char* step, const std::filesystem::path& from,
                 const std::filesystem::path& to) {
  int error = planned_failure(step, to);
  if (error == 0 && ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flag) != 0) error = errno;
  if (error == 0) return true;
  if (error == ENOSYS || error == EINVAL || error == EOPNOTSUPP) return false;
  if (error == EEXIST && flag == RENAME_NOREPLACE) throw is_taken(to);
  throw io_error(to, "cannot rename '" + from.string() + "' to this path", error);
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

std::filesystem::path without_last_slash(const std::filesystem::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

std::filesystem::path parent_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// Return " (process PID)" for the process that holds the folder's lock; "" if unknown.
std::string lock_holder(const std::filesystem::path& folder) {
  const std::optional<long> process = writer_of(folder);
  return process ? " (process " + std::to_string(*process) + ")" : "";
}

}  // namespace

void make_folder(const std::filesystem::path& folder) {
  before_step("make folder", folder);
  if (::mkdir(folder.c_str(), 0777) != 0) throw io_error(folder, "cannot create the folder", errno);
}

void make_folders(const std::filesystem::path& given) {
  const std::filesystem::path folder = without_last_slash(given);
  if (folder.empty() || std::filesystem::is_directory(folder)) return;
  if (folder.has_parent_path()) make_folders(folder.parent_path());
  before_step("make folder", folder);
  // Another process may create the folder at the same time.
  if (::mkdir(folder.c_str(), 0777) != 0 && !std::filesystem::is_directory(folder))
    throw io_error(folder, "cannot create the folder", errno);
  sync_folder(parent_of(folder));
}

void replace_folder(const std::filesystem::path& ready, const std::filesystem::path& folder) {
  const bool exists = is_there(folder);
  if (exists && rename_with(RENAME_EXCHANGE, "exchange", ready, folder)) {
    sync_folder(parent_of(folder));
    return remove_tree(ready);
  }
  const std::filesystem::path replaced = temporary_beside(folder, kReplaced);
  if (is_there(replaced)) remove_tree(replaced);
  if (exists) rename_path(folder, replaced);
  rename_path(ready, folder);
  sync_folder(parent_of(folder));
  if (exists) remove_tree(replaced);
}

void restore_replaced(const std::filesystem::path& parent) {
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(parent)) all.push_back(entry.path());
  const std::string end = std::string(kLeftoverMark) + kReplaced;
  for (const std::filesystem::path& path : all) {
    const std::string name = path.filename().string();
    if (!is_leftover(path) || !name.ends_with(end)) continue;
    const std::filesystem::path folder = parent / name.substr(1, name.size() - 1 - end.size());
    if (!is_there(folder)) rename_path(path, folder);
  }
}

void remove_folder(const std::filesystem::path& folder) {
  const std::filesystem::path doomed = temporary_beside(folder, "old");
  if (is_there(doomed)) remove_tree(doomed);
  rename_path(folder, doomed);
  remove_tree(doomed);
}

void switch_link(const std::filesystem::path& link, const std::filesystem::path& target) {
  const std::filesystem::path temporary = temporary_beside(link);
  before_step("link", link);
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0)
    throw io_error(link, "cannot create the link", errno);
  rename_path(temporary, link);
  sync_folder(parent_of(link));
}

namespace {

// Remove a temporary entry unless a process uses it. An entry in use is locked by its TemporaryEntry.
void remove_leftover(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  const FolderLock held(descriptor);  // closes the descriptor (-1 for a symbolic link)
  if (descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return;
  remove_tree(path);
}

}  // namespace

void remove_leftovers(const std::filesystem::path& folder) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (is_leftover(entry->path())) remove_leftover(entry->path());
  if (error) throw io_error(folder, "cannot list", error.value());
}

namespace {

int open_folder(const std::filesystem::path& folder) {
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int require_folder(const std::filesystem::path& folder) {
  const int descriptor = open_folder(folder);
  if (descriptor < 0) throw io_error(folder, "cannot open", errno);
  return descriptor;
}

// Return true if `folder` is still the opened folder. Another process may have removed or replaced the folder
// between its opening and its locking.
bool is_same_folder(int descriptor, const std::filesystem::path& folder) {
  struct stat locked {
  }, named{};
  return ::fstat(descriptor, &locked) == 0 && ::stat(folder.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : FolderLock(require_folder(folder)) {
  before_step("lock", folder);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) {
    if (!is_same_folder(descriptor_, folder)) throw io_error(folder, "cannot lock the folder", ENOENT);
    return;
  }
  if (errno != EWOULDBLOCK) throw io_error(folder, "cannot lock the folder", errno);
  throw Error(ErrorKind::usage, "another process is writing to the folder" + lock_holder(folder),
              {folder.string(), -1, -1})
      .remedy("Wait until that process ends, stop it, or choose another folder");
}

std::shared_ptr<FolderLock> FolderLock::for_reading(const std::filesystem::path& folder) {
  const int descriptor = open_folder(folder);
  if (descriptor < 0) return nullptr;
  auto held = std::make_shared<FolderLock>(descriptor);
  // Refuse only if another process holds the lock: on a file system without locks, reading is allowed.
  if (::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) return nullptr;
  return is_same_folder(descriptor, folder) ? held : nullptr;
}

std::unique_ptr<FolderLock> FolderLock::for_removal(const std::filesystem::path& folder) {
  auto held = std::make_unique<FolderLock>(require_folder(folder));
  before_step("lock", folder);
  const bool is_read = ::flock(held->descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return is_read || !is_same_folder(held->descriptor_, folder) ? nullptr : std::move(held);
}

// Search the lines of /proc/locks: "1: FLOCK  ADVISORY  WRITE PID MAJOR:MINOR:INODE 0 EOF".
std::optional<long> writer_of(const std::filesystem::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, type, mode, access, place;
    long process = 0;
    if (!(words >> number >> type >> mode >> access >> process >> place)) continue;
    if (type != "FLOCK" || access != "WRITE" || process <= 0) continue;
    if (place.substr(place.rfind(':') + 1) == std::to_string(status.st_ino)) return process;
  }
  return std::nullopt;
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

AtomicFolder::AtomicFolder(const std::filesystem::path& path)
    : path_((is_there(path) ? throw is_taken(path) : make_folders(parent_of(without_last_slash(path))),
             without_last_slash(path))),
      temporary_(path_, TemporaryEntry::Kind::folder) {}

std::unique_ptr<FolderLock> AtomicFolder::commit() {
  sync_folder(temporary());
  if (is_there(path_)) throw is_taken(path_);
  if (!rename_with(RENAME_NOREPLACE, "rename", temporary(), path_)) rename_path(temporary(), path_);
  auto lock = std::make_unique<FolderLock>(temporary_.keep());
  sync_folder(parent_of(path_));
  return lock;
}

}  // namespace regard::base
