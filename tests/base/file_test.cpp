#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/folder.h"
#include "base/line_reader.h"
#include "base/temporary.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::TemporaryFolder;

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(File, AnEmptyNameIsAnError) {
  EXPECT_REGARD_ERROR(read_file(""), ErrorKind::io, "cannot open: the name is empty");
  EXPECT_REGARD_ERROR(AtomicFile(""), ErrorKind::io, "the name is empty");
  EXPECT_REGARD_ERROR(LineReader(""), ErrorKind::io, "the name is empty");
}

TEST(File, ReadsWholeAndWithALimit) {
  const TemporaryFolder folder;
  const std::string content("a\0b\n", 4);
  write_file_atomically(folder / "x", content);
  EXPECT_EQ(read_file(folder / "x"), content);
  EXPECT_EQ(read_file(folder / "x", 4), content);
  EXPECT_REGARD_ERROR(read_file(folder / "x", 3), ErrorKind::bad_file, "at most 3 bytes");
  EXPECT_REGARD_ERROR(read_file(folder / "none"), ErrorKind::io, "No such file");
  EXPECT_REGARD_ERROR(read_file(folder.path()), ErrorKind::io, "Is a directory");
}

// Up to 256 writers of one path get different temporary names. One more writer gets an error.
TEST(Temporary, ManyWritersOfOnePathEachHaveAName) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<TemporaryEntry>> writers;
  std::set<std::filesystem::path> names;
  for (int i = 0; i < 256; ++i) {
    writers.push_back(std::make_unique<TemporaryEntry>(folder / "x", TemporaryEntry::Kind::file));
    names.insert(writers.back()->name());
  }
  EXPECT_EQ(names.size(), 256u);
  EXPECT_REGARD_ERROR(TemporaryEntry(folder / "x", TemporaryEntry::Kind::file), ErrorKind::io,
                      "cannot find a free temporary name");
  writers[100].reset();
  EXPECT_TRUE(names.contains(TemporaryEntry(folder / "x", TemporaryEntry::Kind::folder).name()));
}

// After a writer has created a folder and before it locks the folder, another writer may remove the folder as
// a leftover. The creator must then take another name.
TEST(Temporary, WritersThatRemoveEachOthersNewFoldersAllSucceed) {
  const TemporaryFolder folder;
  std::vector<std::future<void>> writers;
  for (int writer = 0; writer < 4; ++writer)
    writers.push_back(std::async(std::launch::async, [&] {
      for (int i = 0; i < 1000; ++i) {
        const TemporaryEntry entry(folder / "x", TemporaryEntry::Kind::folder);
        if (!std::filesystem::is_directory(entry.name()))
          throw std::runtime_error("an entry in use was removed");
      }
    }));
  for (auto& writer : writers) EXPECT_NO_THROW(writer.get());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(File, Maps) {
  const TemporaryFolder folder;
  std::string content(100000, 'x');
  content.back() = 'y';
  write_file_atomically(folder / "x", content);
  const MappedFile mapped(folder / "x");
  ASSERT_EQ(mapped.bytes().size(), content.size());
  EXPECT_EQ(std::memcmp(mapped.bytes().data(), content.data(), content.size()), 0);
  mapped.release(0, content.size());
  EXPECT_EQ(std::memcmp(mapped.bytes().data(), content.data(), content.size()), 0);
  write_file_atomically(folder / "empty", "");
  EXPECT_TRUE(MappedFile(folder / "empty").bytes().empty());
  EXPECT_REGARD_ERROR(MappedFile(folder / "none"), ErrorKind::io, "none");
  EXPECT_REGARD_ERROR(MappedFile(folder.path()), ErrorKind::io, "directory");
}

// Opening a FIFO without a writer would block forever.
TEST(File, WhatIsNotARegularFileIsRefusedAtOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_REGARD_ERROR(MappedFile(folder / "pipe"), ErrorKind::io,
                      "expected a regular file, found a pipe (FIFO)");
  EXPECT_REGARD_ERROR(read_regular_file(folder / "pipe"), ErrorKind::io, "a pipe (FIFO)");
  EXPECT_REGARD_ERROR(read_regular_file("/dev/zero"), ErrorKind::io, "a character device");
  EXPECT_REGARD_ERROR(read_regular_file(folder.path()), ErrorKind::io, "Is a directory");
  write_file_atomically(folder / "x", "abc");
  EXPECT_EQ(read_regular_file(folder / "x"), "abc");
  EXPECT_REGARD_ERROR(read_regular_file(folder / "x", 2), ErrorKind::bad_file, "at most 2 bytes");
}

TEST(AtomicFile, LeavesTheOldFileUntilCommitted) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "old");
  {
    AtomicFile file(folder / "x");
    file.write("new, but never committed");
  }
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(entries(folder.path()), 1u);
  AtomicFile file(folder / "x");
  file.write("ne");
  file.write("w");
  EXPECT_EQ(file.xxh3(), xxh3("new"));
  file.commit();
  EXPECT_EQ(read_file(folder / "x"), "new");
  EXPECT_EQ(entries(folder.path()), 1u);
}

int failing_step = 0;
int fail_at_step(const char*, const std::filesystem::path&) {
  return failing_step-- == 0 ? ENOSPC : 0;
}

TEST(AtomicFile, AFailureAtAnyStepLeavesOldOrNew) {
  const TemporaryFolder folder;
  int failures = 0;
  for (int step = 0; step < 10; ++step) {
    write_file_atomically(folder / "x", "old");
    failing_step = step;
    const FileHook before = set_file_hook(fail_at_step);
    try {
      write_file_atomically(folder / "x", "new");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      ++failures;
    }
    set_file_hook(before);
    const std::string content = read_file(folder / "x");
    EXPECT_TRUE(content == "old" || content == "new") << content;
    EXPECT_EQ(entries(folder.path()), 1u);
  }
  EXPECT_EQ(failures, 5);  // the steps that fail: create, write, sync, rename, sync folder
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(AtomicFile, KeepsPermissionsOwnerAndLinks) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "old");
  ASSERT_EQ(::chmod((folder / "x").c_str(), 0604), 0);
  const bool owned = ::chown((folder / "x").c_str(), 12, 34) == 0;
  std::filesystem::create_symlink("x", folder / "link");
  std::filesystem::create_symlink(folder / "link", folder / "second");
  std::filesystem::create_symlink("second", folder / "circle");
  std::filesystem::remove(folder / "circle");
  std::filesystem::create_symlink("circle", folder / "circle");
  write_file_atomically(folder / "second", "new");
  EXPECT_EQ(read_file(folder / "x"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(mode_of(folder / "x"), 0604u);
  struct stat status {};
  ASSERT_EQ(::stat((folder / "x").c_str(), &status), 0);
  EXPECT_TRUE(!owned || (status.st_uid == 12 && status.st_gid == 34));
  EXPECT_REGARD_ERROR(AtomicFile(folder / "circle"), ErrorKind::io, "circle");
  EXPECT_REGARD_ERROR(AtomicFile(folder.path()), ErrorKind::io, "Is a directory");
}

// Root may write any file, so the test runs as another user.
TEST(AtomicFile, RefusesAFileThatItMayNotWrite) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "old");
  ASSERT_EQ(::chmod((folder / "x").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(0);
    try {
      write_file_atomically(folder / "x", "new");
    } catch (const Error& error) {
      ::_exit(error.kind() == ErrorKind::io ? 0 : 2);
    }
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read_file(folder / "x"), "old");
}

TEST(AtomicFile, TakesNamesOfEveryLength) {
  const TemporaryFolder folder;
  for (const std::size_t size : {1u, 63u, 64u, 65u, 240u, 255u})
    for (const char* letter : {"n", "ü"}) {
      std::string name;
      while (name.size() + std::strlen(letter) <= size) name += letter;
      if (name.empty()) continue;
      write_file_atomically(folder / name, name);
      EXPECT_EQ(read_file(folder / name), name);
      const std::string temporary = temporary_beside(folder / name, "replaced").filename().string();
      EXPECT_LE(temporary.size(), 110u);
      EXPECT_TRUE(is_leftover(temporary));
    }
  EXPECT_NE(temporary_beside(std::string(64, 'a')).string().find(std::string(64, 'a')), std::string::npos);
  // Names that are shortened to their common beginning still get different temporary names.
  EXPECT_NE(temporary_beside(std::string(200, 'a') + "b"), temporary_beside(std::string(200, 'a') + "c"));
}

TEST(Folder, LeftoversInUseStay) {
  const TemporaryFolder folder;
  AtomicFile file(folder / "x");
  file.write("x");
  make_folder(temporary_beside(folder / "y", "0"));
  remove_leftovers(folder.path());
  EXPECT_EQ(entries(folder.path()), 1u);
  file.commit();
  EXPECT_EQ(read_file(folder / "x"), "x");
}

// A process removes temporary files of dead processes and keeps temporary files of live processes.
TEST(AtomicFile, RemovesWhatADeadProcessLeftAndNothingElse) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder / "x");
    file.write(std::string(100000, 'x'));
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(entries(folder.path()), 1u);
  AtomicFile first(folder / "x");
  EXPECT_EQ(entries(folder.path()), 1u);
  first.write("first");
  {
    AtomicFile second(folder / "x");
    second.write("second");
    second.commit();
  }
  EXPECT_EQ(read_file(folder / "x"), "second");
  first.commit();
  EXPECT_EQ(read_file(folder / "x"), "first");
  EXPECT_EQ(entries(folder.path()), 1u);
}

// The umask is shared by all threads: it must not change even briefly, since other threads create files.
TEST(AtomicFile, GivesNewFilesTheUsersModeWithoutTouchingTheUmask) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread other([&] {
    for (int i = 0; !done; ++i) {
      const auto path = folder / ("other" + std::to_string(i % 8));
      if (::mkdir(path.c_str(), 0777) == 0 && mode_of(path) != 0750) ++wrong;
      ::rmdir(path.c_str());
    }
  });
  for (int i = 0; i < 300; ++i) write_file_atomically(folder / "x", "x");
  done = true;
  other.join();
  std::filesystem::remove(folder / "y");
  write_file_atomically(folder / "y", "y");
  ::umask(before);
  EXPECT_EQ(mode_of(folder / "y"), 0640u);
  EXPECT_EQ(wrong, 0);
}

TEST(AtomicFile, WritesDevicesAndFifosInPlace) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = read_file(folder / "fifo"); });
  write_file_atomically(folder / "fifo", "through");
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "fifo"));
  write_file_atomically("/dev/null", "nothing");
  EXPECT_REGARD_ERROR(write_file_atomically("/dev/full", "too much"), ErrorKind::io, "No space left");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFolder, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  {
    const AtomicFolder never(folder / "a/b/made");
    write_file_atomically(never.temporary() / "file", "x");
  }
  EXPECT_EQ(entries(folder / "a/b"), 0u);
  const pid_t child = ::fork();
  if (child == 0) {
    const AtomicFolder killed(folder / "a/b/made");
    write_file_atomically(killed.temporary() / "file", "x");
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  AtomicFolder made(folder / "a/b/made/");
  write_file_atomically(made.temporary() / "file", "x");
  EXPECT_FALSE(std::filesystem::exists(folder / "a/b/made"));
  made.commit();
  EXPECT_EQ(read_file(folder / "a/b/made/file"), "x");
  EXPECT_EQ(entries(folder / "a/b"), 1u);
  EXPECT_REGARD_ERROR(AtomicFolder(folder / "a/b/made"), ErrorKind::usage, "exists");
}

// If the file system cannot exchange two names, the old folder is renamed first. After a kill between the
// renames, restore_replaced() restores its name.
int no_exchange(const char* step, const std::filesystem::path&) {
  return std::strcmp(step, "exchange") == 0 ? EINVAL : 0;
}
int no_exchange_and_no_second_rename(const char* step, const std::filesystem::path& path) {
  if (std::strcmp(step, "rename") == 0 && path.filename() == "x") return EIO;
  return no_exchange(step, path);
}

TEST(ReplaceFolder, LosesNothingWithoutExchange) {
  const TemporaryFolder folder;
  for (const char* name : {"x", "ready"}) {
    make_folder(folder / name);
    write_file_atomically(folder / name / "file", name);
  }
  set_file_hook(no_exchange_and_no_second_rename);
  EXPECT_REGARD_ERROR(replace_folder(folder / "ready", folder / "x"), ErrorKind::io, "x");
  set_file_hook(nullptr);
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
  restore_replaced(folder.path());
  EXPECT_EQ(read_file(folder / "x/file"), "x");
  set_file_hook(no_exchange);
  replace_folder(folder / "ready", folder / "x");
  set_file_hook(nullptr);
  EXPECT_EQ(read_file(folder / "x/file"), "ready");
  EXPECT_EQ(entries(folder.path()), 1u);
}

}  // namespace
}  // namespace regard::testing
