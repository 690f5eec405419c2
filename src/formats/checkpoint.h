// The run folder and its checkpoints.
//
//   RUN/run.toml  log.jsonl  tokenizer.json …  files of the run
//   RUN/checkpoints/STEP/                      model.safetensors, config.json, optimizer.safetensors, …
//   RUN/checkpoints/STEP/manifest.json         {"format": 1, "step": STEP, "files": {NAME: {size, xxh3}}}
//   RUN/latest, RUN/best                       symbolic links to checkpoints/STEP
//
// A checkpoint is written into a temporary folder: each file is synced, the manifest last. Then the folder is
// renamed, its parent is synced and the links are switched. Old checkpoints are removed last. After a crash
// or power failure at any time, the run folder therefore opens at the previous or the new checkpoint.
//
// The key "best_step" in the state.json of the latest checkpoint names the best checkpoint. The link RUN/best
// is a convenience for users; it is read only if no state.json names a checkpoint.
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

// A checkpoint whose files match its manifest.
struct Checkpoint {
  std::int64_t step = 0;
  std::filesystem::path folder;
  // Empty if this is the requested checkpoint. Otherwise a message with the damaged checkpoint, the reason,
  // and the checkpoint that is used instead.
  std::string warning;
  // While this lock exists, no process removes the checkpoint.
  std::shared_ptr<FolderLock> lock = nullptr;
};

class RunFolder {
 public:
  // Return true if the folder is a run folder: it has run.toml and checkpoints/.
  static bool is_run_folder(const std::filesystem::path& path);

  // Throw usage unless a new run may be created at `path`. Allowed are a path that does not exist, an empty
  // folder, and a folder with only the leftovers of a process that was killed before it wrote run.toml.
  static void check_free(const std::filesystem::path& path);
  // Create the folder of a new run (and its parents) with `run_toml`, and lock it for writing. Throws usage
  // as check_free() does.
  static RunFolder create(const std::filesystem::path& path, std::string_view run_toml);
  // Open a run folder to resume the run: lock it for writing, remove leftovers of a crash and correct the
  // links. Throws usage if it is not a run folder or another process writes to it.
  static RunFolder resume(const std::filesystem::path& path);
  // Open read-only; the run may be active. Throws usage if it is not a run folder.
  static RunFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept { return path_; }
  bool writable() const noexcept { return lock_ != nullptr; }

  // steps of all checkpoints, ascending; the checkpoints are not validated
  std::vector<std::int64_t> steps() const;
  std::filesystem::path checkpoint_folder(std::int64_t step) const;

  // Validate and return the latest checkpoint. If it is damaged, return the newest valid checkpoint with a
  // warning. If there is no checkpoint yet, return std::nullopt. If no checkpoint is valid, throws io if the
  // system can read none of them, otherwise bad_file.
  std::optional<Checkpoint> latest() const;
  // Validate and return the best checkpoint. If no checkpoint was marked as best, return latest(). If the
  // best checkpoint is damaged, return latest() with a warning. Also adds a warning if the state.json of the
  // latest checkpoint cannot be read, because that file names the best checkpoint.
  std::optional<Checkpoint> best() const;

  // Remove old checkpoints. Kept are the latest, the best, the newest `keep_last` (at least 1), the steps in
  // `also`, the checkpoints that a kept checkpoint names as best, and checkpoints that a process is reading.
  void prune(int keep_last, std::span<const std::int64_t> also = {}) const;

 private:
  friend class CheckpointWriter;
  RunFolder(std::filesystem::path path, std::unique_ptr<FolderLock> lock);
  // step of the checkpoint to which a link points
  std::optional<std::int64_t> linked(const char* link) const;
  bool has(std::int64_t step) const;
  // set a link; no effect if the checkpoint does not exist
  void link(const char* link, std::optional<std::int64_t> step) const;
  // Return the key "best_step" in the state.json of the checkpoint of `step`; std::nullopt if the file has no
  // such key or cannot be read. Sets `problem` to the reason if the file cannot be read.
  std::optional<std::int64_t> best_called_by(std::int64_t step, std::string* problem = nullptr) const;
  // Return the step that the latest checkpoint records as the best. If it records none, return the step that
  // the newest other checkpoint records. Set `problem` to the reason if the state.json of the latest
  // checkpoint cannot be read.
  std::optional<std::int64_t> best_called_by_latest(std::string* problem = nullptr) const;
  Checkpoint validated(std::int64_t step) const;
  // Return the newest valid checkpoint, with a warning if newer ones are not valid. `except` is the step of a
  // checkpoint that is known to be invalid, and `problem` is its error.
  std::optional<Checkpoint> newest_good(std::optional<std::int64_t> except,
                                        const Error* problem = nullptr) const;

  std::filesystem::path path_;
  std::unique_ptr<FolderLock> lock_;
};

// Compare every file of the checkpoint with its manifest. Throws bad_file naming the file that differs, io if
// a file cannot be read.
void validate_checkpoint(const std::filesystem::path& folder);

struct CommitOptions {
  bool best = false;                    // mark this checkpoint as best, regardless of state.json
  int keep_last = 2;                    // number of newest checkpoints to keep
  std::vector<std::int64_t> also = {};  // steps of further checkpoints to keep
};

// Writes one checkpoint. If destroyed before commit(), it removes its files; the run folder is unmodified.
class CheckpointWriter {
 public:
  CheckpointWriter(const RunFolder& run,
                   std::int64_t step);  // throws usage if the run folder is read-only or step < 0
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Add a file to the checkpoint. Throws usage if `name` is not a plain file name, starts with a dot, is
  // manifest.json, or was added before. add_text() also accepts FOLDER/NAME and creates the folder.
  void add_tensors(const std::string& name, std::span<const NamedTensor> tensors,
                   const std::map<std::string, std::string>& metadata = {});
  void add_text(const std::string& name, std::string_view text);

  // Move the checkpoint to its folder (replacing a checkpoint of the same step), set the links `latest` and
  // `best`, and remove old checkpoints. `best` points to this checkpoint if options.best is set, otherwise to
  // the checkpoint that the new state.json names.
  Checkpoint commit(CommitOptions options = {});

 private:
  // Throw usage for an invalid name. `in_folder`: the name may be FOLDER/NAME.
  void check_name(const std::string& name, bool in_folder) const;

  const RunFolder& run_;
  std::int64_t step_;
  std::filesystem::path temporary_;
  std::map<std::string, FileDigest> files_;
};

}  // namespace regard::formats
