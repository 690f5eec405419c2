// Progress of a training run on standard error; failed writes are ignored. On a terminal, a few lines are
// redrawn (step, loss, speed, time left, learning rate, the last validation and its sample); otherwise a line
// with the mean loss of the steps since the previous line is printed at intervals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "train/listener.h"

namespace regard::cli {

class TrainingScreen : public train::Listener {
 public:
  // The environment variable REGARD_PROGRESS_SECONDS sets the seconds between printed lines, above 0.
  // Default: 60.
  explicit TrainingScreen(bool quiet);

  // from this call on, signals do not terminate the process, but make stop() return true
  void begins() override;
  void note(const std::string& text) override;
  void step(const train::StepReport& report) override;
  void validating(std::int64_t step) override;
  void validation(const train::ValidationReport& report) override;
  bool stop() override;  // true after SIGINT, SIGTERM or SIGHUP if begins() was called

  void clear();                         // remove the progress line
  void print(const std::string& text);  // print `text` as a separate line

 private:
  std::string time_left(double fraction) const;
  std::vector<std::string> rows() const;

  bool quiet_;
  double interval_;  // seconds between two printed lines
  double first_fraction_ = -1;
  // sums of loss × weight and of the weights over the steps since the last printed step line
  double losses_ = 0, weights_ = 0;
  train::StepReport last_;       // most recent report
  std::string last_validation_;  // loss and metrics of the last validation; "" before the first one
  std::optional<train::Sample> sample_;
  Stopwatch since_start_, since_line_;
  std::optional<ProgressBar> bar_;
};

}  // namespace regard::cli
