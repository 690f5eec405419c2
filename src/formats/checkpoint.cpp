#include "formats/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "base/counted.h"
#include "base/json.h"
#include "base/parse_number.h"
#include "formats/weights.h"

namespace regard::formats {
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kRunFile = "run.toml";
constexpr const char* kLatest = "latest";
constexpr const char* kBest = "best";
constexpr const char* kState = "state.json";
constexpr std::int64_t kFormat = 1;
constexpr std::uint64_t kMaxManifest = std::uint64_t{1} << 24;

// Parse the step from a folder's name: decimal digits without leading zeros.
std::optional<std::int64_t> step_of(const std::string& name) {
  const auto step = parse_number<std::int64_t>(name);
  return step && *step >= 0 && std::to_string(*step) == name ? step : std::nullopt;
}

// Return true if the name, or both parts of FOLDER/NAME, are plain file names without a leading dot. Names
// with a leading dot may belong to temporary files.
bool plain_name(const std::string& name) {
  const auto plain = [](const std::string& part) { return plain_file_name(part) && part.front() != '.'; };
  const std::size_t slash = name.find('/');
  return slash == std::string::npos ? plain(name)
                                    : plain(name.substr(0, slash)) && plain(name.substr(slash + 1));
}

Error damaged(const std::filesystem::path& file, const std::string& what) {
  return file_error(file.string(), "the checkpoint is damaged: " + what);
}

bool empty_apart_from_leftovers(const std::filesystem::path& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool unused = entry.path().filename() == kCheckpoints && entry.is_directory() &&
                        std::filesystem::is_empty(entry.path());
    if (!unused && !is_leftover(entry.path())) return false;
  }
  return true;
}

void validate_file(const std::filesystem::path& path, const Json& entry, const std::string& manifest) {
  const auto size = require<std::uint64_t>(entry, "size", manifest);
  const auto hash = require<std::string>(entry, "xxh3", manifest);
  const MappedFile file(path);
  if (file.bytes().size() != size)
    throw damaged(file.path(), "the file's size differs from the manifest")
        .found(counted(file.bytes().size(), "byte"))
        .expected(counted(size, "byte"));
  if (hex(xxh3(file.bytes())) != hash)
    throw damaged(file.path(), "the file's checksum differs from the manifest");
}

// Compare the file named `only`, or every file if `only` is empty, with the manifest.
void validate(const std::filesystem::path& folder, std::string_view only) {
  const std::filesystem::path manifest_path = folder / kManifest;
  const std::string name = manifest_path.string();
  const Json manifest = parse_json(read_file(manifest_path, kMaxManifest), name);
  if (const auto format = require<std::int64_t>(manifest, "format", name); format != kFormat)
    throw file_error(name, "unknown checkpoint format version")
        .found(std::to_string(format))
        .expected(std::to_string(kFormat));
  const Json files = require<Json>(manifest, "files", name);
  if (!files.is_object()) throw damaged(manifest_path, "\"files\" is not an object");
  for (const auto& [file_name, entry] : files.items()) {
    if (!plain_name(file_name))
      throw damaged(manifest_path, "a file name is not allowed in a checkpoint: " + file_name);
    if (only.empty() || only == file_name) validate_file(folder / file_name, entry, name);
  }
}

void check_run_folder(const std::filesystem::path& path) {
  if (!RunFolder::is_run_folder(path))
    throw Error(ErrorKind::usage, "not a run folder", {path.string(), -1, -1})
        .expected(std::string(kRunFile) + " and " + kCheckpoints + "/ in it");
}

}  // namespace

RunFolder::RunFolder(std::filesystem::path path, std::unique_ptr<FolderLock> lock)
    : path_(std::move(path)), lock_(std::move(lock)) {}

bool RunFolder::is_run_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path / kRunFile, ignored) &&
         std::filesystem::is_directory(path / kCheckpoints, ignored);
}

void RunFolder::check_free(const std::filesystem::path& path) {
  const auto status = std::filesystem::symlink_status(path);
  if (!std::filesystem::exists(status)) return;
  const std::string name = path.string();
  if (is_run_folder(path))
    throw Error(ErrorKind::usage, "the folder already holds a run", {name, -1, -1})
        .remedy("Resume that run with --resume, or choose another folder");
  if (!std::filesystem::is_directory(path))
    throw Error(ErrorKind::usage, "a file with this name exists", {name, -1, -1})
        .remedy("Choose another folder");
  if (!empty_apart_from_leftovers(path))
    throw Error(ErrorKind::usage, "the folder is neither empty nor a run folder; nothing was written",
                {name, -1, -1})
        .remedy("Choose another folder");
}

RunFolder RunFolder::create(const std::filesystem::path& path, std::string_view run_toml) {
  check_free(path);
  if (!std::filesystem::exists(path)) {
    AtomicFolder folder(path);
    make_folder(folder.temporary() / kCheckpoints);
    write_file_atomically(folder.temporary() / kRunFile, run_toml);
    return {path, folder.commit()};
  }
  RunFolder run(path, std::make_unique<FolderLock>(path));
  check_free(path);  // another process may have created a run before the lock was taken
  remove_leftovers(path);
  make_folders(path / kCheckpoints);
  // written last, because this file makes the folder a run folder
  write_file_atomically(path / kRunFile, run_toml);
  return run;
}

RunFolder RunFolder::resume(const std::filesystem::path& path) {
  check_run_folder(path);
  RunFolder run(path, std::make_unique<FolderLock>(path));
  restore_replaced(path / kCheckpoints);
  remove_leftovers(path);
  remove_leftovers(path / kCheckpoints);
  if (const auto latest = run.linked(kLatest); !latest || !run.has(*latest))
    if (const auto newest = run.newest_good(std::nullopt)) run.link(kLatest, newest->step);
  run.link(kBest, run.best_called_by_latest());
  return run;
}

RunFolder RunFolder::open(const std::filesystem::path& path) {
  check_run_folder(path);
  return {path, nullptr};
}

std::filesystem::path RunFolder::checkpoint_folder(std::int64_t step) const {
  return path_ / kCheckpoints / std::to_string(step);
}

std::vector<std::int64_t> RunFolder::steps() const {
  std::vector<std::int64_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_ / kCheckpoints, error))
    if (const auto step = step_of(entry.path().filename().string()); step && entry.is_directory())
      found.push_back(*step);
  if (error) throw io_error(path_ / kCheckpoints, "cannot list", error.value());
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<std::int64_t> RunFolder::linked(const char* link) const {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path_ / link, error);
  if (error || target.parent_path() != kCheckpoints) return std::nullopt;
  return step_of(target.filename().string());
}

bool RunFolder::has(std::int64_t step) const {
  std::error_code ignored;
  return std::filesystem::is_directory(checkpoint_folder(step), ignored);
}

void RunFolder::link(const char* link, std::optional<std::int64_t> step) const {
  if (step && linked(link) != step && has(*step))
    switch_link(path_ / link, std::filesystem::path(kCheckpoints) / std::to_string(*step));
}

std::optional<std::int64_t> RunFolder::best_called_by(std::int64_t step, std::string* problem) const {
  const std::filesystem::path state = checkpoint_folder(step) / kState;
  std::error_code unknown;
  if (!std::filesystem::exists(state, unknown) && !unknown) return std::nullopt;
  try {
    validate(checkpoint_folder(step), kState);
    const auto best = optional_value<std::int64_t>(read_json(state.string()), "best_step", state.string());
    return best && *best > 0 ? best : std::nullopt;
  } catch (const Error& error) {
    if (problem != nullptr) *problem = error.what();
    return std::nullopt;
  }
}

std::optional<std::int64_t> RunFolder::best_called_by_latest(std::string* problem) const {
  std::vector<std::int64_t> all = steps();
  if (const auto latest = linked(kLatest)) all.push_back(*latest);
  for (auto step = all.rbegin(); step != all.rend(); ++step)
    if (const auto best = best_called_by(*step, step == all.rbegin() ? problem : nullptr)) return best;
  return std::nullopt;
}

Checkpoint RunFolder::validated(std::int64_t step) const {
  Checkpoint checkpoint{step, checkpoint_folder(step), "", FolderLock::for_reading(checkpoint_folder(step))};
  if (!checkpoint.lock) throw io_error(checkpoint.folder, "cannot open", ENOENT);
  validate_checkpoint(checkpoint.folder);
  return checkpoint;
}

std::optional<Checkpoint> RunFolder::newest_good(std::optional<std::int64_t> except,
                                                 const Error* problem) const {
  std::vector<std::int64_t> all = steps();
  std::reverse(all.begin(), all.end());
  std::string warning;
  bool unreadable = true;  // true if the system can read none of the checkpoints
  const auto add = [&](const Error& error) {
    warning += (warning.empty() ? "" : "; ") + std::string(error.what());
    unreadable = unreadable && error.kind() == ErrorKind::io;
  };
  if (problem != nullptr) add(*problem);
  for (const std::int64_t step : all) {
    if (step == except) continue;
    try {
      Checkpoint good = validated(step);
      if (!warning.empty()) good.warning = warning + "; using the checkpoint of step " + std::to_string(step);
      return good;
    } catch (const Error& error) {
      add(error);
    }
  }
  if (warning.empty()) return std::nullopt;
  Error error(unreadable ? ErrorKind::io : ErrorKind::bad_file, "no valid checkpoint: " + warning,
              {path_.string(), -1, -1});
  if (!unreadable) error.remedy("Restore a checkpoint from a copy, or train into another folder");
  throw error;
}

std::optional<Checkpoint> RunFolder::latest() const {
  const auto step = linked(kLatest);
  if (!step) return newest_good(std::nullopt);
  try {
    return validated(*step);
  } catch (const Error& error) {
    // if another process has written a checkpoint meanwhile, try again
    if (linked(kLatest) != step) return latest();
    return newest_good(step, &error);
  }
}

std::optional<Checkpoint> RunFolder::best() const {
  const std::optional<std::int64_t> newest = linked(kLatest);
  std::string problem;
  const std::optional<std::int64_t> called = best_called_by_latest(&problem);
  const std::optional<std::int64_t> step = called && has(*called) ? called : linked(kBest);
  if (!step) return latest();
  try {
    Checkpoint good = validated(*step);
    // Warn unless another process has moved `latest` meanwhile: the unreadable state.json may name another
    // best checkpoint.
    if (!problem.empty() && linked(kLatest) == newest)
      good.warning = "the best checkpoint is unknown: " + problem + "; using the checkpoint of step " +
                     std::to_string(*step) + ", which was the best checkpoint before";
    return good;
  } catch (const Error& error) {
    // if another process has written a checkpoint meanwhile, try again
    if (best_called_by_latest() != called) return best();
    auto other = latest();
    if (!other) throw;
    std::string problems = error.what();
    if (other->warning.empty())
      problems += "; using the checkpoint of step " + std::to_string(other->step);
    else if (other->warning.find(problems) != std::string::npos)  // the best checkpoint is the latest
      problems = other->warning;
    else
      problems += "; " + other->warning;
    other->warning = "the best checkpoint is unusable: " + problems;
    return other;
  }
}

void RunFolder::prune(int keep_last, std::span<const std::int64_t> also) const {
  const std::vector<std::int64_t> all = steps();
  const std::size_t keep = std::min(all.size(), static_cast<std::size_t>(std::max(keep_last, 1)));
  std::set<std::int64_t> kept(all.end() - static_cast<std::ptrdiff_t>(keep), all.end());
  kept.insert(also.begin(), also.end());
  for (const char* name : {kLatest, kBest})
    if (const auto step = linked(name)) kept.insert(*step);
  // Loop from the last step to the first, because a checkpoint never names a later step as best. The best
  // step of each kept checkpoint is therefore added to `kept` before the loop reaches that step.
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    if (kept.contains(*step)) {
      if (const auto best = best_called_by(*step)) kept.insert(*best);
    } else if (const auto unread = FolderLock::for_removal(checkpoint_folder(*step))) {
      remove_folder(checkpoint_folder(*step));
    }
  }
}

void validate_checkpoint(const std::filesystem::path& folder) {
  validate(folder, "");
}

CheckpointWriter::CheckpointWriter(const RunFolder& run, std::int64_t step)
    : run_(run), step_(step), temporary_(temporary_beside(run.checkpoint_folder(step))) {
  if (!run.writable()) throw usage_error("the run folder was opened read-only: " + run.path().string());
  if (step < 0)
    throw usage_error("the step of a checkpoint is negative")
        .found(std::to_string(step))
        .expected("at least 0");
  if (std::filesystem::exists(temporary_)) remove_folder(temporary_);
  make_folder(temporary_);
}

CheckpointWriter::~CheckpointWriter() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
}

void CheckpointWriter::check_name(const std::string& name, bool in_folder) const {
  if (!plain_name(name) || name == kManifest || files_.contains(name) ||
      (!in_folder && name.find('/') != std::string::npos))
    throw usage_error("invalid name of a checkpoint file")
        .found("\"" + name + "\"")
        .expected("an unused file name without a folder, other than " + std::string(kManifest));
}

void CheckpointWriter::add_tensors(const std::string& name, std::span<const NamedTensor> tensors,
                                   const std::map<std::string, std::string>& metadata) {
  check_name(name, false);
  files_[name] = write_safetensors(temporary_ / name, tensors, metadata);
}

void CheckpointWriter::add_text(const std::string& name, std::string_view text) {
  check_name(name, true);
  if (const auto parent = (temporary_ / name).parent_path(); !std::filesystem::exists(parent))
    make_folder(parent);
  write_file_atomically(temporary_ / name, text);
  files_[name] = {text.size(), xxh3(text)};
}

Checkpoint CheckpointWriter::commit(CommitOptions options) {
  Json files = Json::object();
  for (const auto& [name, digest] : files_) files[name] = {{"size", digest.size}, {"xxh3", hex(digest.xxh3)}};
  const Json manifest = {{"format", kFormat}, {"step", step_}, {"files", std::move(files)}};
  write_file_atomically(temporary_ / kManifest, manifest.dump(2) + "\n");
  const std::filesystem::path folder = run_.checkpoint_folder(step_);
  replace_folder(temporary_, folder);
  temporary_.clear();
  run_.link(kLatest, step_);
  run_.link(kBest, options.best ? step_ : run_.best_called_by(step_));
  run_.prune(options.keep_last, options.also);
  return {step_, folder, ""};
}

}  // namespace regard::formats
