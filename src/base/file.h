// Files: whole reads with a limit, memory maps, atomic writes. Every failure of the system is an Error of
// kind io that names the path and the system's reason. Atomic means that whoever opens the path, also after a
// power cut, finds either the old bytes or the new ones, never a mixture: the bytes go to a temporary file
// beside the path, which is synced and renamed over it, and then the folder is synced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/temporary.h"
#include "regard/error.h"

namespace regard {

// An error of kind io: "PATH: ACTION: REASON", the reason being that of `error_number` (an errno).
Error io_error(const std::filesystem::path& path, const std::string& action, int error_number);

// A write to a pipe, FIFO or socket whose reader is gone (EPIPE; SIGPIPE must be ignored for it to be seen).
class ClosedPipe : public Error {
 public:
  explicit ClosedPipe(const Error& error) : Error(error) {}
};
// Throws io_error(); ClosedPipe where `error_number` is EPIPE.
[[noreturn]] void throw_write_error(const std::filesystem::path& path, const std::string& action,
                                    int error_number);

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// The whole file as bytes; "-" is standard input. Throws io if it cannot be read (a folder included), and
// bad_file if it is longer than `max_bytes`, which is checked before memory is asked for.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = kNoLimit);

// The same of a regular file: throws io, naming what was found, for a pipe, device or socket, which could be
// waited for without end. For models, whose files are opened by name. "-" is a file of that name.
std::string read_regular_file(const std::filesystem::path& path, std::uint64_t max_bytes = kNoLimit);

// A file mapped for reading; the bytes stay valid as long as the object lives. An empty file maps to an empty
// span. Throws io, also for what is not a regular file.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  const std::filesystem::path& path() const noexcept { return path_; }
  // The pages wholly inside the range are no longer wanted in memory; reading them again is allowed and reads
  // the disk again.
  void release(std::size_t begin, std::size_t size) const noexcept;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// A file being written that appears under its name only at commit(); destroyed before that, it leaves nothing
// behind and the old file as it was. The folder must exist. A symbolic link stays and its target is replaced.
// The permissions of a file that is replaced are kept, and its owner where the system allows that; a file
// without permission to write is refused. What is not a regular file (a device, a FIFO, a socket), an open
// file (/dev/stdout) and "-" (standard output) are written in place as the bytes come.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throws io, ClosedPipe, and WriteStopped as set_write_stop() says.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(bytes_of(text)); }
  void commit();

  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t xxh3() const { return hash_.value(); }  // of all bytes written so far

 private:
  std::filesystem::path resolve();
  void flush();

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::filesystem::path target_;             // path_ with links followed
  std::optional<TemporaryEntry> temporary_;  // nothing: written in place
  std::string buffer_;  // not yet written; always empty where the file is written in place
  std::uint64_t size_ = 0;
  Xxh3Stream hash_;
};

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// A file that grows, each write at its end. What a failed or killed process wrote stays.
class AppendedFile {
 public:
  explicit AppendedFile(std::filesystem::path path);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  void write(std::string_view text);  // throws io

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// While `stop` returns true, writing throws WriteStopped, also where a signal interrupts the wait for a
// reader. Null (the default): writing goes on. Returns the setting before.
struct WriteStopped {};
using WriteStop = bool (*)();
WriteStop set_write_stop(WriteStop stop) noexcept;

// rename(2) and fsync(2) of a folder, as steps of larger atomic changes.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);
void sync_folder(const std::filesystem::path& folder);

// For fault-injection tests: called before every step that changes the disk (here and in base/folder.h) with
// its name, such as "write" or "sync folder"; a result other than 0 makes the step fail with that errno.
// Null: no hook.
using FileHook = int (*)(const char* step, const std::filesystem::path& path);
FileHook set_file_hook(FileHook hook) noexcept;  // returns the hook before
// The errno with which the hook wants this step to fail, or 0.
int planned_failure(const char* step, const std::filesystem::path& path);
// Throws io if the hook wants this step to fail.
void before_step(const char* step, const std::filesystem::path& path);

}  // namespace regard
