// Changes folders atomically: after a crash, each change has been made either completely or not at all. File
// system errors are thrown as Error of kind io.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/namespaces.h"
#include "base/temporary.h"

namespace regard::base {

// Create the folder. Its parent must exist; the folder itself must not exist.
void make_folder(const std::filesystem::path& folder);
// Create the folder and its missing parents, and sync the folders that contain new entries.
void make_folders(const std::filesystem::path& folder);

// Rename `ready` to `folder` and sync their parent; an existing `folder` is replaced and then removed. If the
// system cannot exchange names, the replacement takes two steps; after a crash between them,
// restore_replaced() restores the old folder.
void replace_folder(const std::filesystem::path& ready, const std::filesystem::path& folder);
// Restore the names of folders in `parent` after a process was killed inside replace_folder().
void restore_replaced(const std::filesystem::path& parent);

// Rename the folder to a temporary name before removing it, so that no process can open a partly removed
// folder by its name.
void remove_folder(const std::filesystem::path& folder);

// Create or atomically replace the symbolic link `link`, and sync its folder. `target` is stored unmodified;
// a relative target is relative to the folder of the link.
void switch_link(const std::filesystem::path& link, const std::filesystem::path& target);

// Remove temporary entries of killed processes from the folder (not from its subfolders).
void remove_leftovers(const std::filesystem::path& folder);

// Lock of a folder: exclusive for a writer and for removal, shared by readers. The system releases a lock
// when its process ends for any reason.
class FolderLock {
 public:
  // Acquire a writer's lock. Throws usage if another process holds a lock, naming a writer's process if it is
  // known; throws io if the folder cannot be opened or locked, or has been replaced or removed.
  explicit FolderLock(const std::filesystem::path& folder);
  // Return a lock for a reader; null if the folder cannot be opened, is locked by a writer or for removal, or
  // has been replaced or removed.
  static std::shared_ptr<FolderLock> for_reading(const std::filesystem::path& folder);
  // Return a lock that allows the caller to remove the folder; null if another process holds a lock or has
  // replaced or removed the folder. Throws io if the folder cannot be opened.
  static std::unique_ptr<FolderLock> for_removal(const std::filesystem::path& folder);
  // Take ownership of the descriptor of a folder that is already locked.
  explicit FolderLock(int descriptor) noexcept : descriptor_(descriptor) {}
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

// Return the id of the process that holds the writer's lock of the folder, without taking a lock. Returns
// std::nullopt if there is no writer, or if the system does not list it (in another container, on a network
// file system).
std::optional<long> writer_of(const std::filesystem::path& folder);

// Creates a folder with its content under a temporary name; commit() renames it to its final name. If the
// object is destroyed before commit(), it removes the temporary folder.
class AtomicFolder {
 public:
  // Create the missing parent folders of `path` and the temporary folder. Throws usage if `path` exists.
  explicit AtomicFolder(const std::filesystem::path& path);

  // Return the temporary folder for the content. Write files in it with AtomicFile, which syncs them.
  const std::filesystem::path& temporary() const noexcept { return temporary_.name(); }
  // Rename the folder to its final name and return its writer's lock. Throws usage if another process has
  // created `path`.
  std::unique_ptr<FolderLock> commit();

 private:
  std::filesystem::path path_;
  TemporaryEntry temporary_;
};

}  // namespace regard::base
