// Tests on a disk that is really full or read-only: a small tmpfs in its own mount namespace.
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "faults/faulty_program.h"
#include "formats/checkpoint.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "train/tiny_task.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(disk());
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", disk().c_str(), "tmpfs", 0, "size=1m") == 0;
    if (!mounted) GTEST_SKIP() << "mounting is not permitted here: " << std::strerror(errno);
  }
  void TearDown() override { ::umount2(disk().c_str(), MNT_DETACH); }

  fs::path disk() const { return folder_ / "disk"; }
  // Fill the disk until about `bytes_free` bytes are free.
  void fill(std::uint64_t bytes_free) const {
    struct statvfs status {};
    ASSERT_EQ(::statvfs(disk().c_str(), &status), 0);
    const std::uint64_t free = status.f_bavail * status.f_bsize;
    ASSERT_GE(free, bytes_free);
    write_file(disk(), "ballast", std::string(free - bytes_free, 'x'));
  }
  TemporaryFolder folder_;
};

TEST_F(FullDisk, OutputsStayAsTheyWereAndTheExitCodeSaysSo) {
  const std::string model = golden("hf-more/st-mean").string();
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "one two three\n";
  const std::string many = write_file(folder_.path(), "many", lines).string();
  write_file(disk(), "output", "old");
  fill(4096);
  const std::vector<std::vector<std::string>> calls{
      {"embed", model, many, "-o", "output", "-q"},
      {"embed", model, many, "--attend", "output", "-q"},
      {"convert", model, "model", "-q"},
      {"quantize", golden("hf-tiny/bert").string(), "-o", "model", "-q"},
      {"tokenizer", "train", "--type", "byte-bpe", "--vocab-size", "300", "-o", "output", many, "-q"}};
  for (const auto& arguments : calls) {
    const ProgramResult result = run_program(arguments, disk());
    EXPECT_EQ(result.exit_code, 4) << arguments[0] << ": " << result.err;
    EXPECT_NE(result.err.find("No space left"), std::string::npos) << arguments[0] << ": " << result.err;
    EXPECT_EQ(file_content(disk() / "output"), "old") << arguments[0];
    EXPECT_FALSE(fs::exists(disk() / "model")) << arguments[0];
    EXPECT_EQ(leftovers(disk()), std::vector<std::string>()) << arguments[0];
  }
}

// Standard output is redirected to a file on the full disk.
TEST_F(FullDisk, ResultsThatDoNotFitAreAnError) {
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "one two three\n";
  const std::string many = write_file(folder_.path(), "many", lines).string();
  fill(8192);
  for (const std::string& verb : {"embed " + golden("hf-more/st-mean").string(),
                                  "tokenizer encode -T " + golden("hf-more/st-mean").string()}) {
    const std::string command = "'" + std::string(program_path()) + "' " + verb + " '" + many + "' -q > '" +
                                (disk() / "results").string() + "' 2> '" + (folder_ / "said").string() + "'";
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 4) << verb;
    EXPECT_NE(file_content(folder_ / "said").find("No space left"), std::string::npos) << verb;
    fs::remove(disk() / "results");
  }
}

TEST_F(FullDisk, ARunKeepsItsCheckpointsAndGoesOnWhenThereIsSpace) {
  train::testing_task::write_run(folder_.path());
  const std::vector<std::string> train{"train", (folder_ / "run.toml").string(),
                                       "-q",    "-t",
                                       "1",     "--resume",
                                       "--set", "output.folder=" + (disk() / "run").string()};
  fill(350 * 1024);  // space for a few checkpoints
  const ProgramResult full = run_program(train, folder_.path());
  ASSERT_EQ(full.exit_code, 4) << full.err;
  EXPECT_NE(full.err.find("No space left"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("regard train --resume " + (disk() / "run").string()), std::string::npos)
      << full.err;
  {
    const auto run = formats::RunFolder::open(disk() / "run");
    ASSERT_TRUE(run.latest().has_value());
    EXPECT_EQ(run.latest()->warning + run.best()->warning, "");
  }
  fs::remove(disk() / "ballast");
  ASSERT_EQ(::mount("tmpfs", disk().c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
  const ProgramResult resumed = run_program(train, folder_.path());
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(leftovers(disk()), std::vector<std::string>());
}

// The disk becomes read-only, as Linux remounts it after file-system errors. The run ends with a message,
// keeps all its checkpoints, and continues when the disk is writable again.
TEST_F(FullDisk, ARunOnAReadOnlyDiskKeepsItsCheckpointsAndGoesOnLater) {
  train::testing_task::write_run(folder_.path());
  ASSERT_EQ(::mount("tmpfs", disk().c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
  const auto train = [&](const std::string& run, int steps) {
    return run_program({"train", (folder_ / "run.toml").string(), "-q", "-t", "1", "--resume", "--set",
                        "training.average_last=0", "--set", "training.max_steps=" + std::to_string(steps),
                        "--set", "output.folder=" + (disk() / run).string()},
                       folder_.path());
  };
  ASSERT_EQ(train("whole", 30).exit_code, 0);
  ASSERT_EQ(train("run", 20).exit_code, 0);
  ASSERT_EQ(::mount("tmpfs", disk().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const std::string before = file_content(disk() / "run/latest/model.safetensors");
  for (const char* run : {"run", "new"}) {
    const ProgramResult result = train(run, 30);
    EXPECT_EQ(result.exit_code, 4) << result.err;
    EXPECT_NE(result.err.find("Read-only file system"), std::string::npos) << result.err;
  }
  EXPECT_EQ(file_content(disk() / "run/latest/model.safetensors"), before);
  ASSERT_EQ(::mount("tmpfs", disk().c_str(), "tmpfs", MS_REMOUNT, nullptr), 0);
  const ProgramResult resumed = train("run", 30);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(file_content(disk() / "run/latest/model.safetensors"),
            file_content(disk() / "whole/latest/model.safetensors"));
  EXPECT_EQ(leftovers(disk()), std::vector<std::string>());
}

}  // namespace
}  // namespace regard::testing
