// TrainingRun: opens a new run or an existing run to resume.
#include <utility>

#include "base/file.h"
#include "base/folder.h"
#include "infer/training_words.h"
#include "train/corpora_tokens.h"
#include "train/run_steps.h"

namespace regard::train {

TrainingRun::TrainingRun(const RunConfig& config, ThreadPool& pool, Listener& listener, bool resume,
                         distributed::Ranks& ranks)
    : ranks_(ranks), config_(std::make_unique<RunConfig>(config)) {
  // Set the timeout only if there are several ranks. For a single rank, the object is Ranks::one(), which all
  // threads share and which must not be changed.
  if (!ranks_.alone()) ranks_.set_timeout(config.distributed.timeout);
  for (const std::string& warning : config.warnings) listener.note("warning: " + warning);
  if (ranks_.from_first(resume && formats::RunFolder::is_run_folder(config.output.folder)))
    open_old(pool, listener);
  else
    open_new(pool, listener, resume);
}

TrainingRun::~TrainingRun() = default;

void TrainingRun::open_new(ThreadPool& pool, Listener& listener, bool resume) {
  const std::string& folder = config_->output.folder;
  with_place_of_key(*config_, [&] { check_run(*config_); });
  if (ranks_.first() && formats::RunFolder::is_run_folder(folder))
    const FolderLock held(folder);  // throws usage if another process holds the lock
  if (ranks_.first()) formats::RunFolder::check_free(folder);
  if (resume) listener.note("the folder " + folder + " has no run to resume: starting a new run");
  // The run folder is created after the context, so that an error in the configuration or the data leaves no
  // folder.
  read_cache_only();
  with_place_of_key(*config_, [&] {
    context_ = std::make_unique<TrainingContext>(*config_, pool, std::filesystem::path(), ranks_);
  });
  const std::string words = ranks_.first() ? source_words(*config_, pool) : "";
  listener.begins();
  std::optional<formats::RunFolder> made;
  if (ranks_.first()) made = formats::RunFolder::create(folder, run_as_toml(*config_));
  if (made && !words.empty()) write_file_atomically(made->path() / infer::kTrainingWordsFile, words);
  run_ = std::make_unique<Run>(*config_, listener, *context_, std::move(made));
  run_->check_ranks();
}

void TrainingRun::open_old(ThreadPool& pool, Listener& listener) {
  const std::string& place = config_->output.folder;
  std::optional<formats::RunFolder> written, read;
  std::optional<formats::Checkpoint> checkpoint;
  if (ranks_.first()) {
    written = formats::RunFolder::resume(place);
    checkpoint = place_to_resume(*written);
  }
  const std::int64_t step = ranks_.from_first(checkpoint ? checkpoint->step : std::int64_t{-1});
  if (!written) read = formats::RunFolder::open(place);
  const formats::RunFolder& folder = written ? *written : *read;
  if (!written && step >= 0) checkpoint = formats::Checkpoint{step, folder.checkpoint_folder(step), ""};
  apply_older_rules(*config_, (folder.path() / "run.toml").string());
  with_place_of_key(*config_, [&] { check_run(*config_, checkpoint ? RunFiles::data : RunFiles::all); });
  const Resumption resumption = agree_to_resume(*config_, folder);
  if (checkpoint) check_steps_left(*config_, *checkpoint);
  if (checkpoint && !checkpoint->warning.empty()) listener.note(checkpoint->warning);
  read_cache_only();
  context_ = std::make_unique<TrainingContext>(
      *config_, pool, checkpoint ? checkpoint->folder : std::filesystem::path(), ranks_);
  listener.begins();
  // Write the file of training words, because the first start may have ended after it wrote run.toml and
  // before it wrote this file.
  if (written && !checkpoint)
    if (const std::string words = source_words(*config_, pool); !words.empty())
      write_file_atomically(written->path() / infer::kTrainingWordsFile, words);
  run_ = std::make_unique<Run>(*config_, listener, *context_, std::move(written));
  if (checkpoint) run_->restore(*checkpoint);
  checkpoint.reset();  // release the checkpoint, so that the run can remove it
  // all ranks have read the checkpoint and run.toml, so rank 0 can change these files from here on
  run_->check_ranks();
  run_->take(resumption);
}

// Make the token cache read-only on all ranks except the first. With data.sharded, do nothing: every rank
// then writes a cache of its own shards.
void TrainingRun::read_cache_only() {
  if (config_->data.sharded) return;
  if (!ranks_.first() && config_->data.cache != "never") config_->data.cache = kReadCache;
}

bool TrainingRun::advance() {
  return run_->advance();
}

RunResult TrainingRun::result() const {
  return run_->result();
}

RunResult run_training(const RunConfig& config, ThreadPool& pool, Listener& listener, bool resume,
                       distributed::Ranks& ranks) {
  TrainingRun run(config, pool, listener, resume, ranks);
  while (run.advance()) {
  }
  return run.result();
}

}  // namespace regard::train
