// If mpirun starts a program without the MPI module, the program ends with an error that gives the remedy.
// It does not start a separate run in each process.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "train/tiny_task.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

TEST(Launch, SeveralProcessesWithoutMpiAreRefused) {
  const TemporaryFolder folder;
  train::testing_task::write_run(folder.path());
  fs::create_directory(folder / "bin");
  fs::copy_file(program_path(), folder / "bin/regard");  // without the MPI module in lib/regard
  const char* const set = std::getenv("REGARD_TEST_PROGRAM");
  const std::optional<std::string> before = set ? std::optional<std::string>(set) : std::nullopt;
  ::setenv("REGARD_TEST_PROGRAM", (folder / "bin/regard").c_str(), 1);
  ::setenv("PMI_SIZE", "3", 1);
  const ProgramResult result = run_program({"train", "run.toml"}, folder.path());
  ::unsetenv("PMI_SIZE");
  if (before)
    ::setenv("REGARD_TEST_PROGRAM", before->c_str(), 1);
  else
    ::unsetenv("REGARD_TEST_PROGRAM");
  EXPECT_EQ(result.exit_code, 2) << result.err;
  for (const char* part : {"3 processes", "regard_mpi.so", "without mpirun", "libopenmpi-dev"})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(folder / "run"));
}

}  // namespace
}  // namespace regard::testing
