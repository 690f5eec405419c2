// Folders that are created atomically while other processes create the same ones.
#include "base/folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

// Another process may create the folder after commit() has checked that it does not exist. Callers that
// create a cache expect ErrorKind::usage in this case, and use the cache of the other process.
int created_meanwhile(const char* step, const std::filesystem::path& path) {
  return std::strcmp(step, "rename") == 0 && path.filename() == "made" ? EEXIST : 0;
}

TEST(AtomicFolder, AFolderCreatedMeanwhileIsTaken) {
  const TemporaryFolder folder;
  AtomicFolder made(folder / "made");
  set_file_hook(created_meanwhile);
  EXPECT_REGARD_ERROR(made.commit(), ErrorKind::usage, "exists");
  set_file_hook(nullptr);
}

// Another process may replace a folder after it was opened and before it is locked.
int replace_before_lock(const char* step, const std::filesystem::path& path) {
  if (std::strcmp(step, "lock") != 0) return 0;
  std::filesystem::rename(path, path.string() + ".old");
  std::filesystem::create_directory(path);
  return 0;
}

TEST(FolderLock, AReplacedFolderIsNotLocked) {
  const TemporaryFolder folder;
  for (const char* name : {"run", "checkpoint"}) std::filesystem::create_directory(folder / name);
  set_file_hook(replace_before_lock);
  EXPECT_REGARD_ERROR(FolderLock(folder / "run"), ErrorKind::io, "cannot lock the folder");
  EXPECT_EQ(FolderLock::for_removal(folder / "checkpoint"), nullptr);
  set_file_hook(nullptr);
  EXPECT_NE(FolderLock::for_removal(folder / "checkpoint"), nullptr);
}

// A reader cannot lock a folder that a writer has locked. A writer cannot remove a folder that a reader uses.
TEST(FolderLock, ReadersAndTheWriterExcludeEachOther) {
  const TemporaryFolder folder;
  EXPECT_EQ(FolderLock::for_reading(folder / "none"), nullptr);
  EXPECT_EQ(writer_of(folder / "none"), std::nullopt);
  {
    const FolderLock writer(folder.path());
    EXPECT_EQ(FolderLock::for_reading(folder.path()), nullptr);
    EXPECT_EQ(FolderLock::for_removal(folder.path()), nullptr);
    EXPECT_REGARD_ERROR(FolderLock(folder.path()), ErrorKind::usage, "another process is writing");
  }
  const auto reader = FolderLock::for_reading(folder.path()), second = FolderLock::for_reading(folder.path());
  EXPECT_NE(reader, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(FolderLock::for_removal(folder.path()), nullptr);
  EXPECT_EQ(writer_of(folder.path()), std::nullopt);
}

TEST(Folder, OneThatIsMissingCannotBeSyncedListedOrLocked) {
  const TemporaryFolder folder;
  EXPECT_REGARD_ERROR(sync_folder(folder / "none"), ErrorKind::io, "none: cannot open: No such file");
  EXPECT_REGARD_ERROR(remove_leftovers(folder / "none"), ErrorKind::io, "none: cannot list: No such file");
  EXPECT_REGARD_ERROR(FolderLock(folder / "none"), ErrorKind::io, "none: cannot open: No such file");
}

// A folder that a process may write but not read cannot be opened for fsync(). Root may read any folder, so
// the test runs as another user.
TEST(AtomicFile, WritesToAFolderThatItMayNotRead) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chmod(folder.path().c_str(), 0333) != 0) ::_exit(3);
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(0);
    try {
      write_file_atomically(folder / "x", "new");
    } catch (const Error&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
}

}  // namespace
}  // namespace regard::testing
