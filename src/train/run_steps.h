// The training loop of a run: executes steps and validations, and writes checkpoints and log.jsonl.
// Constructed by TrainingRun (run.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "formats/checkpoint.h"
#include "train/evaluation.h"
#include "train/run.h"
#include "train/run_log.h"
#include "train/run_resume.h"
#include "train/training_context.h"

namespace regard::train {

class Run {
 public:
  // The first three arguments must outlive the object. `folder` is set only on rank 0, because the other
  // ranks write no files.
  Run(const RunConfig& config, Listener& listener, TrainingContext& context,
      std::optional<formats::RunFolder> folder);
  void restore(const formats::Checkpoint& checkpoint);
  // Collective. Throws usage if data, weights, settings or instruction sets of the ranks differ.
  void check_ranks() const;
  void take(const Resumption& resumption);

  // Collective; see TrainingRun::advance(). On one rank, a step that takes longer than kLongestWait
  // (run_limits.cpp) after a stop request is abandoned; a resumed run computes it again.
  bool advance();
  RunResult result() const;

 private:
  struct Decision {
    bool stop, limit;
  };
  Decision decide();
  void log(const Json& line);
  bool begin();
  bool end(bool stopped);
  // return the limit that the run has reached; nullopt if there is none
  std::optional<std::string> limit() const;
  double fraction() const;
  double seconds() const { return state_.seconds + watch_.seconds(); }
  Error with_remedy(const Error& error) const;
  std::optional<StepResult> step();
  bool stop_overdue();
  void report_step(const StepResult& result);
  void note_skipped(const StepResult& result);
  bool due(std::int64_t every) const { return every > 0 && context_.trainer->steps() % every == 0; }
  // Return true if the last step was skipped because its loss or gradient was not finite. The cause may be
  // the weights, so they are not saved.
  bool diverging() const { return context_.trainer->skipped().in_row > 0; }
  bool due_validation() const { return due(config_.validation.every_steps); }
  // return true if the current step has been validated
  bool validated() const {
    return !state_.validated.empty() && state_.validated.back() == context_.trainer->steps();
  }
  void write_header();
  bool measure(ValidationReport& report);
  bool run_validation();
  bool judge(ValidationReport& report, std::int64_t checkpoint);
  void remember_validation();
  void write_log(const ValidationReport& report);
  bool finish();
  bool validate_average();
  void write_checkpoint(bool best);
  void commit(formats::CheckpointWriter& writer, bool best);

  const RunConfig& config_;
  Listener& listener_;
  TrainingContext& context_;
  std::optional<formats::RunFolder> folder_;
  RunState state_;
  std::optional<RunLog> log_;  // writer of log.jsonl; set only on rank 0
  bool resumed_ = false;
  std::vector<RunChange> changes_;  // settings that differ from those before resuming
  Stopwatch watch_;                 // time since begin() or the last checkpoint
  Stopwatch interval_;              // time since the last logged step or validation
  // sum of loss · weight and sum of the label weights since the last logged step
  double interval_loss_ = 0, interval_weight_ = 0;
  std::int64_t interval_tokens_ = 0;
  std::int64_t saved_step_ = -1;
  Stopwatch since_question_;             // time since the last call of the listener's stop() within a step
  std::optional<Stopwatch> since_stop_;  // time since stop() first returned true
  bool begun_ = false, ended_ = false, stopped_ = false;
};

}  // namespace regard::train
