// A signal that arrives while `regard serve` loads its models.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

// SIGHUP is blocked when the program starts, so that it is pending until the program waits for signals, which
// is before its models are loaded.
TEST(ReloadSignal, WhileTheModelsAreLoadedReloadsThemAfterwards) {
  const TemporaryFolder folder;
  write_text_model(folder / "gpt", "gpt", 64);
  const std::string program = program_path(), model = (folder / "gpt").string();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  sigset_t hangup, before;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &hangup, &before);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::execl(program.c_str(), program.c_str(), "serve", model.c_str(), "--port", "0", "--access-log", "",
            nullptr);
    ::_exit(127);
  }
  ::kill(child, SIGHUP);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(ends[1]);
  std::string printed;
  constexpr int kWaitMilliseconds = 60'000;
  pollfd waiting{ends[0], POLLIN, 0};
  for (char byte = 0; printed.find("reloaded\n") == printed.npos; printed += byte)
    if (::poll(&waiting, 1, kWaitMilliseconds) <= 0 || ::read(ends[0], &byte, 1) != 1) break;
  EXPECT_NE(printed.find("ready: gpt"), printed.npos) << printed;
  EXPECT_NE(printed.find("reloaded\n"), printed.npos) << printed;
  ::kill(child, SIGTERM);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ::close(ends[0]);
}

}  // namespace
}  // namespace regard::testing
