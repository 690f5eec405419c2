// The run folder and its checkpoints.
//
//   RUN/run.toml  log.jsonl  tokenizer.json …        the run's own files
//   RUN/checkpoints/STEP/                            model.safetensors, config.json, optimizer.safetensors, …
//   RUN/checkpoints/STEP/manifest.json               {"format": 1, "step": STEP, "files": {NAME: {size,
//   xxh3}}} RUN/latest, RUN/best                             symbolic links to checkpoints/STEP
//
// A checkpoint is written into a temporary folder, each file synced, the manifest last; then the folder is
// renamed, its parent synced, the links switched, and only then are old checkpoints removed. Whenever the
// process is killed or the power fails, the run folder therefore opens at the checkpoint before or the new
// one. The best checkpoint is the one that "best_step" of the latest checkpoint's state.json names; the link
// repeats it for people, and counts only where no state.json names one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder.h"
#include "formats/safetensors.h"

namespace regard::formats {

// A checkpoint whose manifest was compared with its files.
struct Checkpoint {
  std::int64_t step = 0;
  std::filesystem::path folder;
  // Not empty if this is not the one that was asked for: which one is damaged, why, and what is used instead.
  std::string warning;
  // While this lives, no run removes the checkpoint.
  std::shared_ptr<FolderLock> lock = nullptr;
};

class RunFolder {
 public:
  // Whether the folder is one of ours: it has run.toml and checkpoints/.
  static bool is_run_folder(const std::filesystem::path& path);

  // Throws usage unless a new run may begin at `path`: there must be nothing, an empty folder, or what a
  // killed process left before it wrote run.toml.
  static void check_free(const std::filesystem::path& path);
  // For a new run: makes the folder (and its parents) with `run_toml` inside, and holds it against other
  // writers. Throws usage as check_free() does.
  static RunFolder create(const std::filesystem::path& path, std::string_view run_toml);
  // For going on with a run: holds the folder against other writers, removes what a crash left behind, and
  // corrects the links.
  // Throws usage if it is not a run folder.
  static RunFolder resume(const std::filesystem::path& path);
  // For reading only; the run may be going on. Throws usage if it is not a run folder.
  static RunFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept { return path_; }
  bool writable() const noexcept { return lock_ != nullptr; }

  std::vector<std::int64_t> steps() const;  // of the checkpoints there are, ascending, not validated
  std::filesystem::path checkpoint_folder(std::int64_t step) const;

  // The latest checkpoint, validated; if it is damaged the newest other one that is good, with a warning.
  // Nothing if there is no checkpoint yet; bad_file if there are some and none is good.
  std::optional<Checkpoint> latest() const;
  // The best one, or latest() with a warning if it is damaged, or without one if none was marked best.
  std::optional<Checkpoint> best() const;

  // Removes all checkpoints but the latest, the best, the last `keep_last`, those that these call the best,
  // and those being read.
  void prune(int keep_last) const;

 private:
  friend class CheckpointWriter;
  RunFolder(std::filesystem::path path, std::unique_ptr<FolderLock> lock);
  std::optional<std::int64_t> linked(const char* link) const;  // the step that a link names
  bool has(std::int64_t step) const;
  void link(const char* link, std::optional<std::int64_t> step) const;  // if there is such a checkpoint
  // "best_step" of this checkpoint; of the latest, or else the newest, whose state.json can be read.
  std::optional<std::int64_t> best_called_by(std::int64_t step) const;
  std::optional<std::int64_t> best_called_by_latest() const;
  Checkpoint validated(std::int64_t step) const;
  std::optional<Checkpoint> newest_good(std::optional<std::int64_t> except, std::string warning) const;

  std::filesystem::path path_;
  std::unique_ptr<FolderLock> lock_;
};

// Compares every file of the checkpoint with its manifest. Throws bad_file naming the file that differs, io
// if one cannot be read.
void validate_checkpoint(const std::filesystem::path& folder);

struct CommitOptions {
  bool best = false;  // the best so far, whatever state.json says
  int keep_last = 2;  // how many of the newest stay
};

// One checkpoint being written. Destroyed before commit(), it leaves the run folder as it was.
class CheckpointWriter {
 public:
  CheckpointWriter(const RunFolder& run,
                   std::int64_t step);  // throws usage if the run folder is not writable
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Adds a file; names are plain (no folders) and differ.
  void add_tensors(const std::string& name, std::span<const NamedTensor> tensors,
                   const std::map<std::string, std::string>& metadata = {});
  void add_text(const std::string& name, std::string_view text);

  // Puts the checkpoint in place (a checkpoint of the same step is replaced), switches the links and prunes.
  // `best` is linked to what state.json calls the best.
  Checkpoint commit(CommitOptions options = {});

 private:
  void check_name(const std::string& name) const;

  const RunFolder& run_;
  std::int64_t step_;
  std::filesystem::path temporary_;
  std::map<std::string, FileDigest> files_;
};

}  // namespace regard::formats
