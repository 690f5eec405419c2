// Reads whole files up to a size limit, maps files into memory, and writes files atomically. System errors
// are thrown as an Error with the path and the system's reason; the kind is io, or resource_exhausted if
// memory or file descriptors are used up.
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
#include "base/namespaces.h"
#include "base/temporary.h"
#include "regard/error.h"

namespace regard::base {

// Return the error "PATH: ACTION: REASON", with the reason of `error_number` (an errno). Its kind is
// resource_exhausted if is_exhausted(error_number), otherwise io.
Error io_error(const std::filesystem::path& path, const std::string& action, int error_number);

// Return true if the errno means that the process or the system has no memory or file descriptors left.
bool is_exhausted(int error_number) noexcept;

// Thrown by a write to a pipe, FIFO or socket whose reader has closed it (EPIPE). Requires that SIGPIPE is
// ignored.
class ClosedPipe : public Error {
 public:
  explicit ClosedPipe(const Error& error) : Error(error) {}
};
// Throws the error of io_error(), or ClosedPipe if `error_number` is EPIPE.
[[noreturn]] void throw_write_error(const std::filesystem::path& path, const std::string& action,
                                    int error_number);

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

// Return the whole file as bytes. The path "-" is standard input. Throws io if it cannot be read or is a
// folder, and bad_file if it is longer than `max_bytes`; the size of a regular file is checked before memory
// is allocated.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes = kNoLimit);

// Like read_file(), but throws io for a pipe, device or socket, because reading it could block forever. The
// path "-" is a file of that name, not standard input.
std::string read_regular_file(const std::filesystem::path& path, std::uint64_t max_bytes = kNoLimit);

// A file mapped read-only; the bytes are valid during the lifetime of the object. An empty file maps to an
// empty span. The constructor throws io, also if the path is not a regular file.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }
  // Return the bytes as non-const memory, for interfaces such as Tensor. The pages are read-only: a write to
  // them ends the process.
  std::span<std::byte> pages() const noexcept { return {data_, size_}; }
  const std::filesystem::path& path() const noexcept { return path_; }
  // Release the memory of all pages that are completely inside the range (in bytes). Later reads load them
  // again.
  void release(std::size_t begin, std::size_t size) const noexcept;

 private:
  std::filesystem::path path_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Writes a file atomically: after a crash or power failure at any time, the path has either the old content
// or the new content. The bytes are written to a temporary file in the same folder; commit() syncs it,
// renames it over the path and syncs the folder.
class AtomicFile {
 public:
  // Prepare to write `path`; its folder must exist. The permissions of an existing file are kept; the target
  // of a symbolic link is replaced. Standard output ("-"), open files such as /dev/stdout and other files
  // that are not regular are written in place, unbuffered. Throws io.
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();  // removes the temporary file unless commit() was called
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Throws io, ClosedPipe, or WriteStopped (see set_write_stop()).
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(bytes_of(text)); }
  void commit();

  std::uint64_t size() const noexcept { return size_; }
  std::uint64_t xxh3() const { return hash_.value(); }  // hash of all bytes written so far

 private:
  std::filesystem::path resolve();
  void flush();

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::filesystem::path target_;             // destination: path_ with symbolic links resolved
  std::optional<TemporaryEntry> temporary_;  // the temporary file; empty if the file is written in place
  std::string buffer_;  // bytes not yet written; always empty if the file is written in place
  std::uint64_t size_ = 0;
  Xxh3Stream hash_;
};

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

// A file opened for appending. Written data is kept if the process fails or is killed.
class AppendedFile {
 public:
  explicit AppendedFile(std::filesystem::path path);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  void write(std::string_view text);  // append the text; throws io

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Install a function that stops writing: writes throw WriteStopped while `stop` returns true, also during the
// wait for a reader of a FIFO. Returns the previous function (default: null, which never stops).
struct WriteStopped {};
using WriteStop = bool (*)();
WriteStop set_write_stop(WriteStop stop) noexcept;

// Rename a path, or sync a folder. Both are steps of larger atomic changes and throw io. A
// folder that may not be read is not synced.
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);
void sync_folder(const std::filesystem::path& folder);

// Hook for fault-injection tests, called before every step that changes the disk (here and in base/folder.h)
// with the name of the step, such as "write" or "sync folder". A non-zero result makes the step fail with
// that errno.
using FileHook = int (*)(const char* step, const std::filesystem::path& path);
FileHook set_file_hook(FileHook hook) noexcept;  // default: null; returns the previous hook
// Return the errno with which the hook makes this step fail, or 0.
int planned_failure(const char* step, const std::filesystem::path& path);
// Throws io if the hook makes this step fail.
void before_step(const char* step, const std::filesystem::path& path);

}  // namespace regard::base
