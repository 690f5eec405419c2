// Folders that change atomically: each function is one step that a crash leaves done or not done. Failures
// are Errors of kind io.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/temporary.h"

namespace regard {

// Makes the folder; its parent must exist, and it must not.
void make_folder(const std::filesystem::path& folder);
// Makes the folder and its parents where they are missing, and syncs what they are made in.
void make_folders(const std::filesystem::path& folder);

// Puts `ready` in the place of `folder`, and syncs their parent. A folder that was there before is replaced
// and removed: in one step where the system can swap names, else in two, between which restore_replaced()
// finds the old one.
void replace_folder(const std::filesystem::path& ready, const std::filesystem::path& folder);
// In `parent`: gives folders back their names that replace_folder() was killed while replacing.
void restore_replaced(const std::filesystem::path& parent);

// Renames the folder to a temporary name and then removes it, so that it is never seen half empty.
void remove_folder(const std::filesystem::path& folder);

// Makes `link` a symbolic link to `target` (as given, so usually relative), replacing the link before, and
// syncs the folder that it is in.
void switch_link(const std::filesystem::path& link, const std::filesystem::path& target);

// Removes what killed processes left in the folder itself (not in the folders inside).
void remove_leftovers(const std::filesystem::path& folder);

// Holds a folder for one writer, or for readers against its removal. Freed by the system however the process
// ends.
class FolderLock {
 public:
  explicit FolderLock(
      const std::filesystem::path& folder);  // for a writer; throws usage, naming who holds it
  // For a reader; null if there is no such folder or it is being removed.
  static std::shared_ptr<FolderLock> for_reading(const std::filesystem::path& folder);
  // For removing it; null if a reader holds it.
  static std::unique_ptr<FolderLock> for_removal(const std::filesystem::path& folder);
  // Adopts the descriptor of a folder that is locked already.
  explicit FolderLock(int descriptor) noexcept : descriptor_(descriptor) {}
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

// A folder being made that appears under its name only at commit(), with all that was put into it; destroyed
// before that, it leaves nothing behind.
class AtomicFolder {
 public:
  // Makes missing parents. Throws usage if there is anything at `path`.
  explicit AtomicFolder(const std::filesystem::path& path);

  // Where to put the content: files by AtomicFile, which syncs them.
  const std::filesystem::path& temporary() const noexcept { return temporary_.name(); }
  // Returns the writer's lock of the folder. Throws usage if another process made `path` meanwhile.
  std::unique_ptr<FolderLock> commit();

 private:
  std::filesystem::path path_;
  TemporaryEntry temporary_;
};

}  // namespace regard
