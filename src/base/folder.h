// Folders that change atomically: each function is one step that a crash leaves done or not done. Failures
// are Errors of kind io.
#pragma once

#include <filesystem>
#include <string>

namespace regard {

// Makes the folder; its parent must exist, and it must not.
void make_folder(const std::filesystem::path& folder);

// The name of a temporary entry beside `path`; is_leftover() knows it. Equal paths give equal names, so what
// a crash left behind is found again.
std::filesystem::path temporary_beside(const std::filesystem::path& path);

// Puts `ready` in the place of `folder`, and syncs their parent. A folder that was there before is replaced
// (in one step where the file system can swap names) and removed.
void replace_folder(const std::filesystem::path& ready, const std::filesystem::path& folder);

// Renames the folder to a temporary name and then removes it, so that it is never seen half empty.
void remove_folder(const std::filesystem::path& folder);

// Makes `link` a symbolic link to `target` (as given, so usually relative), replacing the link before, and
// syncs the folder that it is in.
void switch_link(const std::filesystem::path& link, const std::filesystem::path& target);

// Removes what killed processes left in the folder itself (not in the folders inside).
void remove_leftovers(const std::filesystem::path& folder);

// Holds a folder for one writer. Freed by the system however the process ends.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);  // throws usage if another holds it
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace regard
