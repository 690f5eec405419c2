#include "support/served_program.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "support/program.h"
#include "support/resident.h"

namespace regard::testing {

ServedProgram::ServedProgram(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"serve", "--port", "0", "--access-log", ""};
  words.insert(words.end(), arguments.begin(), arguments.end());
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  process_ = ::fork();
  if (process_ == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]), ::close(ends[1]);
    exec_program(words, ".");
  }
  ::close(ends[1]);
  output_ = ends[0];
  std::string printed;
  char byte = 0;
  const std::string before = "on http://127.0.0.1:";
  while (::read(output_, &byte, 1) == 1) {
    printed += byte;
    const std::size_t at = printed.find(before);
    if (byte != '\n' || at == printed.npos) continue;
    port_ = static_cast<std::uint16_t>(std::stoul(printed.substr(at + before.size())));
    return;
  }
  stop();
  throw std::runtime_error("regard serve ended: " + printed);
}

ServedProgram::~ServedProgram() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  if (output_ >= 0) ::close(output_);
}

double ServedProgram::resident_mib() const {
  return testing::resident_mib("VmRSS", std::to_string(process_));
}

int ServedProgram::stop() {
  ::kill(process_, SIGTERM);
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace regard::testing
