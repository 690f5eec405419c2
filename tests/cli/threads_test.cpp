// The program on a system that allows fewer threads than requested.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/in_child.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

TEST(Threads, ARefusedThreadIsSaidOnceAndDoneWithout) {
  const testing::TemporaryFolder folder;
  ::chmod(folder.path().c_str(), 0777);
  const std::string errors = folder / "errors";
  const int code = testing::exit_code_in_child([&] {
    constexpr uid_t kNobody = 65534;
    const rlimit one{1, 1};
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) return 77;
    if (setrlimit(RLIMIT_NPROC, &one) != 0 || access(testing::program_path(), X_OK) != 0) return 77;
    if (std::freopen(errors.c_str(), "w", stderr) == nullptr ||
        std::freopen("/dev/null", "w", stdout) == nullptr)
      return 77;
    execl(testing::program_path(), "regard", "bench", "gemm", "--m", "64", "--n", "64", "--k", "64", "-t",
          "4", nullptr);
    return 127;
  });
  if (code == 77) GTEST_SKIP() << "this user may not be changed or limited here";
  EXPECT_EQ(code, 0);
  const std::string said = testing::file_content(errors);
  const std::string wanted = "regard: the system started only 1 of 4 threads";
  EXPECT_EQ(said.find(wanted), 0u) << said;
  EXPECT_EQ(said.find(wanted, 1), std::string::npos) << "it is said once";
}

}  // namespace
}  // namespace regard::testing
