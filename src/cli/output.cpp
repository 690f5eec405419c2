#include "cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/file.h"
#include "cli/verb.h"

namespace regard::cli {
namespace {

constexpr const char* kName = "standard output";

[[noreturn]] void fail(int error) {
  if (error == EINTR && stop_signal() != 0) throw Stopped();
  throw_write_error(kName, "cannot write", error);
}

}  // namespace

void prepare_standard_streams() {
  // A closed standard input is opened for writing and a closed standard output for reading, so that using
  // them fails with EBADF.
  constexpr std::array kFlags{O_WRONLY, O_RDONLY, O_WRONLY};
  for (std::size_t descriptor = 0; descriptor < kFlags.size(); ++descriptor) {
    if (::fcntl(static_cast<int>(descriptor), F_GETFD) >= 0) continue;
    if (::open("/dev/null", kFlags[descriptor]) < 0) ::open("/", O_RDONLY | O_DIRECTORY);
  }
  // With these signals ignored, failed writes return an error, so that partly written files can be removed.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void write_result(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail(errno);
}

void flush_results() {
  errno = 0;
  if (std::fflush(stdout) != 0) fail(errno);
}

void finish_results() {
  flush_results();
  if (std::ferror(stdout) != 0) fail(EIO);
  if (::close(STDOUT_FILENO) != 0 && errno != EBADF) fail(errno);
}

void end_by_closed_pipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  std::_Exit(128 + SIGPIPE);  // reached only if SIGPIPE is blocked
}

void print_warning(std::string_view warning) noexcept {
  if (warning.empty()) return;
  write_message("regard: ");
  write_message(warning);
  write_message("\n");
}

void write_message(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace regard::cli
