#include "formats/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::formats {
namespace {

using testing::TemporaryFolder;

void save(const RunFolder& run, std::int64_t step, CommitOptions options = {}) {
  CheckpointWriter writer(run, step);
  const std::vector<NamedTensor> tensors = {{"weight", Tensor::of({static_cast<float>(step), 2, 3})}};
  writer.add_tensors("model.safetensors", tensors);
  writer.add_text("state.json", "{\"step\": " + std::to_string(step) + "}\n");
  writer.commit(options);
}

void expect_intact_tensor(const Checkpoint& checkpoint) {
  const auto file = SafetensorsFile::open(checkpoint.folder / "model.safetensors");
  EXPECT_EQ(file->tensor("weight").at({0}), static_cast<double>(checkpoint.step));
}

// Expect that the checkpoint opens and contains exactly what save() wrote.
void expect_intact(const Checkpoint& checkpoint) {
  expect_intact_tensor(checkpoint);
  EXPECT_EQ(read_file(checkpoint.folder / "state.json"),
            "{\"step\": " + std::to_string(checkpoint.step) + "}\n");
}

void flip_a_byte(const std::filesystem::path& path) {
  std::string content = read_file(path);
  content.back() = static_cast<char>(content.back() ^ 1);
  write_file_atomically(path, content);
}

bool has_leftovers(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (is_leftover(entry.path())) return true;
  return false;
}

TEST(RunFolder, IsMadeOnceAndNothingIsOverwritten) {
  const TemporaryFolder folder;
  {
    const RunFolder run = RunFolder::create(folder / "a/b/run", "seed = 1\n");
    EXPECT_EQ(read_file(run.path() / "run.toml"), "seed = 1\n");
    EXPECT_EQ(run.latest(), std::nullopt);
    EXPECT_REGARD_ERROR(RunFolder::resume(run.path()), ErrorKind::usage, "another process is writing");
  }
  EXPECT_REGARD_ERROR(RunFolder::create(folder / "a/b/run", ""), ErrorKind::usage, "--resume");
  EXPECT_EQ(read_file(folder / "a/b/run/run.toml"), "seed = 1\n");
  EXPECT_REGARD_ERROR(RunFolder::create(folder / "a", ""), ErrorKind::usage,
                      "neither empty nor a run folder");
  write_file_atomically(folder / "file", "x");
  EXPECT_REGARD_ERROR(RunFolder::create(folder / "file", ""), ErrorKind::usage, "a file with this name");
  EXPECT_REGARD_ERROR(RunFolder::resume(folder / "a"), ErrorKind::usage, "not a run folder");
  EXPECT_REGARD_ERROR(RunFolder::open(folder / "none"), ErrorKind::usage, "not a run folder");
  std::filesystem::create_directory(folder / "empty");
  EXPECT_NO_THROW(RunFolder::create(folder / "empty", ""));
}

TEST(RunFolder, KeepsLatestBestAndTheLastFew) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  for (std::int64_t step = 10; step <= 100; step += 10) save(run, step, {step == 30, 3});
  EXPECT_EQ(run.steps(), (std::vector<std::int64_t>{30, 80, 90, 100}));
  EXPECT_EQ(run.latest()->step, 100);
  EXPECT_EQ(run.best()->step, 30);
  expect_intact(*run.best());
  EXPECT_EQ(read_file(folder / "run/best/state.json"), "{\"step\": 30}\n");
  EXPECT_FALSE(has_leftovers(run.path()));
}

// Save a checkpoint as training does, with the best step in state.json.
void save_judged(const RunFolder& run, std::int64_t step, std::int64_t best, int keep_last) {
  CheckpointWriter writer(run, step);
  const std::vector<NamedTensor> tensors = {{"weight", Tensor::of({static_cast<float>(step), 2, 3})}};
  writer.add_tensors("model.safetensors", tensors);
  writer.add_text("state.json",
                  "{\"step\": " + std::to_string(step) + ", \"best_step\": " + std::to_string(best) + "}\n");
  writer.commit({step == best, keep_last});
}

int fail_at_best(const char* step, const std::filesystem::path& path) {
  return std::string(step) == "link" && path.filename() == "best" ? EIO : 0;
}

// The update of the link `best` fails after `latest` was updated. state.json then takes precedence: resuming
// corrects the link, and the best checkpoint that state.json names is not pruned.
TEST(RunFolder, TheBestIsWhatStateJsonSays) {
  const TemporaryFolder folder;
  {
    const RunFolder run = RunFolder::create(folder / "run", "");
    save_judged(run, 1, 1, 1);
    save_judged(run, 2, 1, 1);
    set_file_hook(fail_at_best);
    EXPECT_THROW(save_judged(run, 3, 3, 1), Error);
    set_file_hook(nullptr);
    EXPECT_EQ(std::filesystem::read_symlink(run.path() / "best"), "checkpoints/1");
    EXPECT_EQ(run.best()->step, 3);
    EXPECT_EQ(run.best()->warning, "");
  }
  const RunFolder run = RunFolder::resume(folder / "run");
  EXPECT_EQ(std::filesystem::read_symlink(run.path() / "best"), "checkpoints/3");
  for (std::int64_t step = 4; step <= 6; ++step) save_judged(run, step, 3, 1);
  EXPECT_EQ(run.steps(), (std::vector<std::int64_t>{3, 6}));
  EXPECT_EQ(run.best()->step, 3);
  // A missing link is also restored.
  std::filesystem::remove(run.path() / "best");
  EXPECT_EQ(run.best()->step, 3);
  save_judged(run, 7, 3, 1);
  EXPECT_EQ(std::filesystem::read_symlink(run.path() / "best"), "checkpoints/3");
  EXPECT_EQ(run.steps(), (std::vector<std::int64_t>{3, 7}));
}

// A checkpoint that a reader has open is not pruned until the reader closes it.
TEST(RunFolder, ACheckpointThatIsReadIsNotPruned) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  save_judged(run, 1, 1, 1);
  {
    const auto read = RunFolder::open(run.path()).best();
    save_judged(run, 2, 2, 1);
    expect_intact_tensor(*read);
    EXPECT_EQ(run.steps(), (std::vector<std::int64_t>{1, 2}));
  }
  save_judged(run, 3, 3, 1);
  EXPECT_EQ(run.steps(), (std::vector<std::int64_t>{3}));
}

// A run folder left incomplete by a kill during its creation can be created again.
TEST(RunFolder, AHalfMadeFolderIsBegunAgain) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "half/checkpoints");  // as earlier versions of regard did
  write_file_atomically(folder / "half/.run.toml.regard-tmp-0", "x");
  EXPECT_NO_THROW(RunFolder::create(folder / "half", "x = 1\n"));
  EXPECT_FALSE(has_leftovers(folder.path()));
  EXPECT_TRUE(RunFolder::is_run_folder(folder / "half"));
}

TEST(RunFolder, ACheckpointOfTheSameStepIsReplaced) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  save(run, 5);
  {
    CheckpointWriter writer(run, 5);
    writer.add_text("state.json", "new");
    writer.commit();
  }
  EXPECT_EQ(read_file(run.latest()->folder / "state.json"), "new");
  EXPECT_FALSE(std::filesystem::exists(run.latest()->folder / "model.safetensors"));
  EXPECT_FALSE(has_leftovers(run.path()));
}

TEST(RunFolder, FallsBackFromADamagedCheckpointAndSaysSo) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  save(run, 1, {true, 5});
  save(run, 2, {false, 5});
  save(run, 3, {true, 5});
  flip_a_byte(run.checkpoint_folder(3) / "model.safetensors");
  EXPECT_EQ(run.latest()->step, 2);
  EXPECT_NE(run.latest()->warning.find("checksum"), std::string::npos) << run.latest()->warning;
  EXPECT_NE(run.latest()->warning.find("model.safetensors"), std::string::npos);
  EXPECT_EQ(run.best()->step, 2);
  EXPECT_NE(run.best()->warning, "");
  std::filesystem::remove(run.checkpoint_folder(2) / "state.json");
  EXPECT_EQ(run.latest()->step, 1);
  std::filesystem::resize_file(run.checkpoint_folder(1) / "model.safetensors", 10);
  EXPECT_REGARD_ERROR(run.latest(), ErrorKind::bad_file, "no valid checkpoint");
}

TEST(RunFolder, AnUnreadableManifestIsAnErrorOfTheSystem) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  save(run, 1);
  const auto manifest = run.checkpoint_folder(1) / "manifest.json";
  std::filesystem::remove(manifest);
  std::filesystem::create_directory(manifest);
  EXPECT_REGARD_ERROR(run.latest(), ErrorKind::io, "manifest.json: cannot read: Is a directory");
  save(run, 2);
  write_file_atomically(run.checkpoint_folder(2) / "manifest.json", "{}");
  EXPECT_REGARD_ERROR(run.latest(), ErrorKind::bad_file, "; ");
}

TEST(RunFolder, AHostileManifestCannotLeaveTheFolder) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  save(run, 1);
  const auto manifest = run.checkpoint_folder(1) / "manifest.json";
  for (const char* name : {"../../run.toml", "/etc/passwd", "..", ".", ""}) {
    write_file_atomically(manifest, std::string(R"({"format":1,"step":1,"files":{")") + name +
                                        R"(":{"size":0,"xxh3":"2d06800538d394c2"}}})");
    EXPECT_REGARD_ERROR(validate_checkpoint(run.checkpoint_folder(1)), ErrorKind::bad_file,
                        "not allowed in a checkpoint");
  }
  write_file_atomically(manifest, R"({"format":2,"step":1,"files":{}})");
  EXPECT_REGARD_ERROR(validate_checkpoint(run.checkpoint_folder(1)), ErrorKind::bad_file, "format");
}

TEST(CheckpointWriter, WritesFilesOfOneFolderBelow) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  CheckpointWriter writer(run, 1);
  writer.add_text("1_Pooling/config.json", "{}");
  const Checkpoint checkpoint = writer.commit();
  validate_checkpoint(checkpoint.folder);
  EXPECT_EQ(read_file(checkpoint.folder / "1_Pooling/config.json"), "{}");
  write_file_atomically(checkpoint.folder / "1_Pooling/config.json", "[]");
  EXPECT_REGARD_ERROR(validate_checkpoint(checkpoint.folder), ErrorKind::bad_file, "checksum");
}

TEST(CheckpointWriter, RefusesWrongNamesAndLeavesNothingUncommitted) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  {
    CheckpointWriter writer(run, 1);
    writer.add_text("a", "");
    for (const char* name : {"a", "", "../x", "x/../y", "x/y/z", "x/.y", "/x", "x/", ".", "manifest.json"})
      EXPECT_REGARD_ERROR(writer.add_text(name, ""), ErrorKind::usage, "invalid name");
    EXPECT_REGARD_ERROR(writer.add_tensors("x/y", {}), ErrorKind::usage, "invalid name");
  }
  EXPECT_TRUE(run.steps().empty());
  EXPECT_FALSE(has_leftovers(run.path()));
  EXPECT_REGARD_ERROR(CheckpointWriter(RunFolder::open(folder / "run"), 1), ErrorKind::usage, "read-only");
}

int steps_left = 0;
int fail_then(const char*, const std::filesystem::path&) {
  return steps_left-- == 0 ? ENOSPC : 0;
}
int die_then(const char*, const std::filesystem::path&) {
  if (steps_left-- == 0) ::kill(::getpid(), SIGKILL);
  return 0;
}

// Create a run with checkpoints 1 (best) and 2. Return its path.
std::filesystem::path prepared(const TemporaryFolder& folder, int trial) {
  const std::filesystem::path path = folder / std::to_string(trial);
  const RunFolder run = RunFolder::create(path, "x = 1\n");
  save(run, 1, {true, 1});
  save(run, 2, {false, 1});
  return path;
}

// A failure while saving checkpoint 3 must leave 2 or 3 as the latest and 1 or 3 as the best checkpoint.
// Expect that both are intact and that saving again succeeds.
void expect_usable(const std::filesystem::path& path) {
  {
    const RunFolder reading = RunFolder::open(path);
    ASSERT_NE(reading.latest(), std::nullopt);
    expect_intact(*reading.latest());
  }
  const RunFolder run = RunFolder::resume(path);
  EXPECT_FALSE(has_leftovers(path));
  {
    const auto latest = run.latest(), best = run.best();
    ASSERT_TRUE(latest && best);
    EXPECT_TRUE(latest->step == 2 || latest->step == 3) << latest->step;
    EXPECT_TRUE(best->step == 1 || best->step == 3) << best->step;
    EXPECT_EQ(latest->warning + best->warning, "");
    expect_intact(*latest);
    expect_intact(*best);
  }  // the readers are closed, so the checkpoints may be pruned
  save(run, 3, {true, 1});
  EXPECT_EQ(run.latest()->step, 3);
  EXPECT_EQ(run.best()->step, 3);
  EXPECT_EQ(run.steps(), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(read_file(path / "run.toml"), "x = 1\n");
}

TEST(Checkpoint, AFailureAtAnyStepLeavesTheOldOrTheNewOne) {
  const TemporaryFolder folder;
  int trial = 0;
  for (bool failed = true; failed; ++trial) {
    const auto path = prepared(folder, trial);
    {
      const RunFolder run = RunFolder::resume(path);
      steps_left = trial;
      set_file_hook(fail_then);
      try {
        save(run, 3, {true, 1});
        failed = false;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
      }
      set_file_hook(nullptr);
    }
    expect_usable(path);
  }
  EXPECT_GT(trial, 25);  // three files with five calls each, the folder, two links, the removals
}

TEST(Checkpoint, AKillAtAnyStepLeavesTheOldOrTheNewOne) {
  const TemporaryFolder folder;
  int trial = 0;
  for (bool killed = true; killed; ++trial) {
    const auto path = prepared(folder, trial);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const RunFolder run = RunFolder::resume(path);
      steps_left = trial;
      set_file_hook(die_then);
      save(run, 3, {true, 1});
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    killed = WIFSIGNALED(status);
    ASSERT_TRUE(killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    expect_usable(path);
  }
  EXPECT_GT(trial, 25);
}

TEST(RunFolder, AKillAtAnyStepOfItsMakingLeavesAPathToBeginAt) {
  const TemporaryFolder folder;
  int trial = 0;
  for (bool killed = true; killed; ++trial) {
    const std::filesystem::path path = folder / std::to_string(trial) / "runs" / "run";
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      steps_left = trial;
      set_file_hook(die_then);
      RunFolder::create(path, "x = 1\n");
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    killed = WIFSIGNALED(status);
    if (RunFolder::is_run_folder(path)) {
      EXPECT_EQ(read_file(RunFolder::resume(path).path() / "run.toml"), "x = 1\n");
    } else {
      EXPECT_NO_THROW(RunFolder::create(path, "x = 1\n")) << trial;
    }
    EXPECT_FALSE(has_leftovers(folder.path())) << trial;
  }
  EXPECT_GT(trial, 10);
}

// Data in the page cache survives a kill but not a power cut. The test therefore checks the order of the file
// operations: data must be synced before its name appears.
std::vector<std::string>* recorded = nullptr;
int record(const char* step, const std::filesystem::path& path) {
  recorded->push_back(std::string(step) + " " + path.filename().string());
  return 0;
}

// A power cut after the first checkpoint must not lose its folder or that folder's parents.
TEST(RunFolder, IsSyncedIntoItsParents) {
  const TemporaryFolder folder;
  std::vector<std::string> steps;
  recorded = &steps;
  set_file_hook(record);
  RunFolder::create(folder / "runs" / "first", "");
  set_file_hook(nullptr);
  const auto at = [&](const std::string& step) {
    const auto found = std::find(steps.begin(), steps.end(), step);
    EXPECT_NE(found, steps.end()) << step;
    return found - steps.begin();
  };
  EXPECT_LT(at("make folder runs"), at("sync folder " + folder.path().filename().string()));
  EXPECT_LT(at("sync run.toml"), at("rename first"));
  EXPECT_LT(at("rename first"), at("sync folder runs"));
}

TEST(Checkpoint, EverythingIsSyncedBeforeItIsNamed) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::resume(prepared(folder, 0));
  std::vector<std::string> steps;
  recorded = &steps;
  set_file_hook(record);
  save(run, 3, {true, 1});
  set_file_hook(nullptr);
  const auto at = [&](const std::string& step) {
    const auto found = std::find(steps.begin(), steps.end(), step);
    EXPECT_NE(found, steps.end()) << step;
    return found - steps.begin();
  };
  for (const char* name : {"model.safetensors", "state.json"})
    EXPECT_LT(at(std::string("sync ") + name), at("create manifest.json"));
  EXPECT_LT(at("sync manifest.json"), at("rename 3"));
  EXPECT_LT(at("rename 3"), at("sync folder checkpoints"));
  EXPECT_LT(at("sync folder checkpoints"), at("rename latest"));
  EXPECT_LT(at("rename latest"), at("rename best"));
  EXPECT_LT(at("rename best"), at("remove .2.regard-tmp-old"));
}

}  // namespace
}  // namespace regard::formats
