// Run a function in a child process made by fork(). The child ends with exit(), so static objects are
// destroyed as in a program.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <thread>

#include "support/namespaces.h"

namespace regard::testing {

constexpr int kHung = -1;

// Return the child's exit code: the result of `work`, 99 if it throws, 128 + signal if a signal ended the
// child, kHung if it does not end within a minute (it is then killed).
template <class Work>
int exit_code_in_child(const Work& work) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    int code = 99;
    try {
      code = work();
    } catch (const std::exception&) {
    }
    std::exit(code);
  }
  int status = 0;
  for (int waited = 0; ::waitpid(child, &status, WNOHANG) == 0; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (waited < 6000) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return kHung;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace regard::testing
