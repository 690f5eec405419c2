#include "support/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace fs = std::filesystem;

const char* program_path() {
  const char* other = std::getenv("REGARD_TEST_PROGRAM");  // set by tools/mutants.py
  return other != nullptr ? other : built_program();
}

void exec_program(const std::vector<std::string>& arguments, const fs::path& folder) {
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (chdir(folder.c_str()) != 0) _exit(126);
  std::vector<char*> words;
  words.push_back(const_cast<char*>("regard"));
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(program_path(), words.data());
  _exit(127);
}

namespace {

[[noreturn]] void become_program(const std::vector<std::string>& arguments, const fs::path& folder,
                                 const fs::path& streams) {
  const auto redirect = [&](const char* name, int flags, int to) {
    const int file = open((streams / name).c_str(), flags, 0600);
    if (file < 0 || dup2(file, to) < 0) _exit(126);
  };
  redirect("in", O_RDONLY, STDIN_FILENO);
  redirect("out", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
  redirect("err", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
  exec_program(arguments, folder);
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments, const fs::path& folder,
                          const std::string& input, int seconds) {
  const Interruption never{.signal = SIGKILL, .after = std::chrono::seconds(seconds)};
  bool interrupted = false;
  ProgramResult result = run_interrupted(arguments, folder, never, input, &interrupted);
  if (interrupted) result.exit_code = 124;
  return result;
}

ProgramResult run_interrupted(const std::vector<std::string>& arguments, const fs::path& folder,
                              const Interruption& interruption, const std::string& input, bool* interrupted) {
  const TemporaryFolder streams;
  write_file(streams.path(), "in", input);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become_program(arguments, folder, streams.path());
  const auto moment = std::chrono::steady_clock::now() + interruption.after;
  int status = 0;
  bool sent = false;
  while (waitpid(child, &status, WNOHANG) == 0) {
    const auto left = moment - std::chrono::steady_clock::now();
    if (left.count() <= 0 && !sent) {
      kill(child, interruption.signal);
      sent = true;
    }
    constexpr std::chrono::steady_clock::duration kLook = std::chrono::milliseconds(2);
    std::this_thread::sleep_for(sent || left > kLook ? kLook : std::max(left, decltype(left)(1000)));
  }
  if (interrupted != nullptr) *interrupted = sent;
  ProgramResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = file_content(streams.path() / "out");
  result.err = file_content(streams.path() / "err");
  return result;
}

fs::path write_file(const fs::path& folder, const std::string& name, const std::string& content) {
  const fs::path path = folder / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string file_content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace regard::testing
