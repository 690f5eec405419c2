#include "cli/unreadable_mapping.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "cli/exit_code.h"

namespace regard::cli {
namespace {

// Only functions that are safe in a signal handler are used in this file: no allocation, no stdio.

// Read a hexadecimal number and advance `text` past it.
std::uintptr_t hexadecimal(const char*& text) {
  std::uintptr_t value = 0;
  for (;; ++text) {
    if (*text >= '0' && *text <= '9')
      value = value * 16 + static_cast<std::uintptr_t>(*text - '0');
    else if (*text >= 'a' && *text <= 'f')
      value = value * 16 + static_cast<std::uintptr_t>(*text - 'a' + 10);
    else
      return value;
  }
}

// Return the file in a line of /proc/self/maps ("BEGIN-END MODE OFFSET DEVICE INODE  PATH") if the line's
// range contains the address, else null.
const char* file_of_line(const char* line, std::uintptr_t address) {
  const std::uintptr_t begin = hexadecimal(line);
  if (*line++ != '-') return nullptr;
  const std::uintptr_t end = hexadecimal(line);
  return address >= begin && address < end ? std::strchr(line, '/') : nullptr;
}

void say(const char* text) {
  for (std::size_t left = std::strlen(text); left > 0;) {
    const ssize_t written = ::write(STDERR_FILENO, text, left);
    if (written <= 0) return;
    text += written;
    left -= static_cast<std::size_t>(written);
  }
}

// Print the name of the mapped file that contains the address.
void say_file(std::uintptr_t address) {
  static char lines[1 << 14];
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::size_t used = 0;
  while (maps >= 0) {
    const ssize_t count = ::read(maps, lines + used, sizeof lines - 1 - used);
    if (count <= 0) break;
    used += static_cast<std::size_t>(count);
    lines[used] = '\0';
    char* line = lines;
    for (char* end = std::strchr(line, '\n'); end != nullptr; end = std::strchr(line, '\n')) {
      *end = '\0';
      if (const char* file = file_of_line(line, address)) {
        say(file);
        return;
      }
      line = end + 1;
    }
    used -= static_cast<std::size_t>(line - lines);
    std::memmove(lines, line, used);
    if (used == sizeof lines - 1) used = 0;  // skip a line that is longer than the buffer
  }
  say("a mapped file");
}

void on_bus_error(int, siginfo_t* about, void*) {
  say("regard: ");
  say_file(reinterpret_cast<std::uintptr_t>(about->si_addr));
  say(": a part of the file cannot be read. Its disk has failed, or the file has become shorter while it was "
      "in "
      "use. Restore the file; --resume continues a training run from its last checkpoint\n");
  ::_exit(exit_code(ErrorKind::io));
}

}  // namespace

void report_unreadable_mappings() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace regard::cli
