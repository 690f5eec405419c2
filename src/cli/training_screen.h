// How a run of training is shown on standard error, whichever verb started it.
#pragma once

#include <optional>
#include <string>

#include "base/progress.h"
#include "train/listener.h"

namespace regard::cli {

class TrainingScreen : public train::Listener {
 public:
  explicit TrainingScreen(bool quiet) : quiet_(quiet) {}

  void note(const std::string& text) override;
  void step(const train::StepReport& report) override;
  void validating(std::int64_t step) override;
  void validation(const train::ValidationReport& report) override;
  bool stop() override;  // at SIGINT and SIGTERM, once catch_signals() was called

  void clear();  // takes the progress line away

 private:
  bool quiet_;
  double last_fraction_ = 0;
  std::optional<ProgressBar> bar_;
};

}  // namespace regard::cli
