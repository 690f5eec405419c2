#include "base/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/file.h"

namespace regard {
namespace {

void remove_tree(const std::filesystem::path& path) {
  before_step("remove", path);
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) throw io_error(path, "cannot remove", error.value());
}

// Swaps two names in one step; false where the file system cannot.
bool exchange(const std::filesystem::path& a, const std::filesystem::path& b) {
  before_step("exchange", b);
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == ENOSYS || errno == EINVAL) return false;
  throw io_error(b, "cannot put in place", errno);
}

}  // namespace

void make_folder(const std::filesystem::path& folder) {
  before_step("make folder", folder);
  if (::mkdir(folder.c_str(), 0777) != 0) throw io_error(folder, "cannot make the folder", errno);
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  return path.parent_path() / ("." + path.filename().string() + kLeftoverMark);
}

void replace_folder(const std::filesystem::path& ready, const std::filesystem::path& folder) {
  const bool exists = std::filesystem::exists(std::filesystem::symlink_status(folder));
  if (exists && exchange(ready, folder)) {
    sync_folder(folder.parent_path());
    return remove_tree(ready);
  }
  if (exists) remove_folder(folder);
  rename_path(ready, folder);
  sync_folder(folder.parent_path());
}

void remove_folder(const std::filesystem::path& folder) {
  const std::filesystem::path doomed = temporary_beside(folder).string() + "old";
  if (std::filesystem::exists(doomed)) remove_tree(doomed);
  rename_path(folder, doomed);
  remove_tree(doomed);
}

void switch_link(const std::filesystem::path& link, const std::filesystem::path& target) {
  const std::filesystem::path temporary = temporary_beside(link);
  before_step("link", link);
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) throw io_error(link, "cannot make the link", errno);
  rename_path(temporary, link);
  sync_folder(link.parent_path());
}

void remove_leftovers(const std::filesystem::path& folder) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (is_leftover(entry->path())) remove_tree(entry->path());
  if (error) throw io_error(folder, "cannot list", error.value());
}

FolderLock::FolderLock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw io_error(folder, "cannot open", errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int error = errno;
  ::close(descriptor_);
  if (error != EWOULDBLOCK) throw io_error(folder, "cannot lock", error);
  throw Error(ErrorKind::usage, "another process is writing to the folder", {folder.string(), -1, -1})
      .remedy("Wait for it to end, stop it, or choose another folder");
}

FolderLock::~FolderLock() {
  ::close(descriptor_);
}

}  // namespace regard
