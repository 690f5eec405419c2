#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/line_reader.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard {
namespace {

using testing::TemporaryFolder;

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
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

// Opening a pipe without a writer would wait for ever.
TEST(File, WhatIsNotARegularFileIsRefusedAtOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_REGARD_ERROR(MappedFile(folder / "pipe"), ErrorKind::io,
                      "found a pipe (FIFO); expected a regular file");
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
  EXPECT_EQ(failures, 5);  // create, write, sync, rename, sync folder
}

TEST(LineReader, NumbersLinesAndHandlesEveryEnd) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "one\n\r\n\nfour\r\nfive");
  LineReader reader(folder / "x");
  std::string line;
  std::vector<std::string> lines;
  while (reader.next(line)) lines.push_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "", "four", "five"}));
  EXPECT_EQ(reader.line_number(), 5);
  EXPECT_FALSE(reader.next(line));
  write_file_atomically(folder / "x", std::string(200000, 'a') + "\n" + std::string(70000, 'b') + "\n");
  LineReader longer(folder / "x");
  ASSERT_TRUE(longer.next(line));
  EXPECT_EQ(line.size(), 200000u);
  ASSERT_TRUE(longer.next(line));
  EXPECT_EQ(line, std::string(70000, 'b'));
  EXPECT_FALSE(longer.next(line));
}

TEST(LineReader, RefusesOrFlagsBadUtf8) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "good\nb\xFFz\ngood\n");
  std::string line;
  LineReader strict(folder / "x");
  ASSERT_TRUE(strict.next(line));
  EXPECT_REGARD_ERROR(strict.next(line), ErrorKind::bad_file, "x:2 (byte 1)");
  LineReader lenient(folder / "x", BadUtf8::flag);
  while (lenient.next(line)) EXPECT_EQ(lenient.valid(), lenient.line_number() != 2);
  EXPECT_EQ(lenient.bad_lines(), 1);
  EXPECT_EQ(lenient.line_number(), 3);
  EXPECT_REGARD_ERROR(LineReader(folder / "none"), ErrorKind::io, "No such file");
}

TEST(LineReader, KnowsWhetherALineHasArrived) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  LineReader reader("/dev/fd/" + std::to_string(ends[0]));
  EXPECT_FALSE(reader.ready());
  ASSERT_EQ(::write(ends[1], "half", 4), 4);
  EXPECT_FALSE(reader.ready());
  ASSERT_EQ(::write(ends[1], "\nx", 2), 2);
  EXPECT_TRUE(reader.ready());
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "half");
  EXPECT_FALSE(reader.ready());
  ::close(ends[1]);
  EXPECT_TRUE(reader.ready());
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, "x");
  EXPECT_FALSE(reader.next(line));
  ::close(ends[0]);
}

}  // namespace
}  // namespace regard
