// TrainingRun: opens a run, a new one or one to resume.
#include <utility>

#include "base/file.h"
#include "base/folder.h"
#include "infer/training_words.h"
#include "train/run_steps.h"

namespace regard::train {

TrainingRun::TrainingRun(const RunConfig& config, ThreadPool& pool, Listener& listener, bool resume)
    : config_(std::make_unique<RunConfig>(config)) {
  for (const std::string& warning : config.warnings) listener.note("warning: " + warning);
  if (resume && formats::RunFolder::is_run_folder(config.output.folder))
    open_old(pool, listener);
  else
    open_new(pool, listener, resume);
}

TrainingRun::~TrainingRun() = default;

void TrainingRun::open_new(ThreadPool& pool, Listener& listener, bool resume) {
  const std::string& folder = config_->output.folder;
  with_place_of_key(*config_, [&] { check_run(*config_); });
  if (formats::RunFolder::is_run_folder(folder))
    const FolderLock held(folder);  // throws if another process holds it, naming that process
  formats::RunFolder::check_free(folder);
  if (resume) listener.note("nothing to resume in " + folder + ": starting a new run");
  // Make the folder only after everything else that may fail.
  with_place_of_key(*config_, [&] { context_ = std::make_unique<TrainingContext>(*config_, pool); });
  const std::string words = source_words(*config_, pool);
  listener.begins();
  formats::RunFolder created = formats::RunFolder::create(folder, run_as_toml(*config_));
  if (!words.empty()) write_file_atomically(created.path() / infer::kTrainingWordsFile, words);
  run_ = std::make_unique<Run>(*config_, listener, *context_, std::move(created));
}

void TrainingRun::open_old(ThreadPool& pool, Listener& listener) {
  formats::RunFolder folder = formats::RunFolder::resume(config_->output.folder);
  apply_older_rules(*config_, (folder.path() / "run.toml").string());
  std::optional<formats::Checkpoint> checkpoint = place_to_resume(folder);
  with_place_of_key(*config_, [&] { check_run(*config_, checkpoint ? RunFiles::data : RunFiles::all); });
  const Resumption resumption = agree_to_resume(*config_, folder);
  if (checkpoint) check_steps_left(*config_, *checkpoint);
  if (checkpoint && !checkpoint->warning.empty()) listener.note(checkpoint->warning);
  context_ = std::make_unique<TrainingContext>(*config_, pool,
                                               checkpoint ? checkpoint->folder : std::filesystem::path());
  listener.begins();
  run_ = std::make_unique<Run>(*config_, listener, *context_, std::move(folder));
  if (checkpoint) run_->restore(*checkpoint);
  checkpoint.reset();  // release it, so that the run may remove it
  run_->take(resumption);
}

bool TrainingRun::advance() {
  return run_->advance();
}

RunResult TrainingRun::result() const {
  return run_->result();
}

RunResult run_training(const RunConfig& config, ThreadPool& pool, Listener& listener, bool resume) {
  TrainingRun run(config, pool, listener, resume);
  while (run.advance()) {
  }
  return run.result();
}

}  // namespace regard::train
