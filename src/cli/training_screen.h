// How a run of training is shown on standard error, whichever verb started it. On a terminal a progress line
// is redrawn; without one a line is printed every minute (REGARD_PROGRESS_SECONDS, a number above 0, sets
// another interval). That it cannot be written never ends a run.
#pragma once

#include <optional>
#include <string>

#include "base/progress.h"
#include "train/listener.h"

namespace regard::cli {

class TrainingScreen : public train::Listener {
 public:
  explicit TrainingScreen(bool quiet);

  void begins() override;  // from here on signals are remembered: before, they end the process
  void note(const std::string& text) override;
  void step(const train::StepReport& report) override;
  void validating(std::int64_t step) override;
  void validation(const train::ValidationReport& report) override;
  bool stop() override;  // at SIGINT, SIGTERM and SIGHUP, once begins() was called

  void clear();                         // takes the progress line away
  void print(const std::string& text);  // a line of its own

 private:
  std::string time_left(double fraction) const;

  bool quiet_;
  double interval_;  // seconds between lines
  double first_fraction_ = -1, last_fraction_ = 0;
  Stopwatch since_start_, since_line_;
  std::optional<ProgressBar> bar_;
};

}  // namespace regard::cli
