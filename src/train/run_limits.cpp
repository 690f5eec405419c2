// Determines when a run ends: at a limit, or after a stop request by the listener.
#include <algorithm>

#include "train/run_steps.h"

namespace regard::train {
namespace {

// Maximum time from a stop request to the end of the current step. A longer step is abandoned, so that the
// run writes a checkpoint and ends within 10 seconds.
constexpr double kLongestWait = 6.0;       // seconds
constexpr double kBetweenQuestions = 0.1;  // minimum time between calls of stop() within a step, in seconds

}  // namespace

// Decide whether the run stops or has reached a limit. All ranks get the same decision: a stop request at any
// rank stops all ranks, and rank 0 decides whether a limit has been reached.
Run::Decision Run::decide() {
  const bool stop = listener_.stop();
  const Decision here{stop, !stop && limit().has_value()};
  if (context_.ranks.alone()) return here;
  const std::vector<Decision> all = context_.ranks.gather(here);
  return {std::any_of(all.begin(), all.end(), [](const Decision& rank) { return rank.stop; }),
          all.front().limit};
}

std::optional<std::string> Run::limit() const {
  RunState now;
  now.step = context_.trainer->steps(), now.epochs = context_.batches->epochs(), now.seconds = seconds();
  now.validations_since_best = state_.validations_since_best;
  return limit_of(now, config_);
}

double Run::fraction() const {
  const TrainingConfig& training = config_.training;
  double most = 0.0;
  if (training.max_steps > 0)
    most = static_cast<double>(context_.trainer->steps()) / static_cast<double>(training.max_steps);
  if (training.max_epochs > 0) most = std::max(most, context_.batches->epochs() / training.max_epochs);
  if (training.max_minutes > 0) most = std::max(most, seconds() / (60.0 * training.max_minutes));
  return std::min(most, 1.0);
}

// Return true if the current step must be abandoned.
bool Run::stop_overdue() {
  if (since_question_.seconds() < kBetweenQuestions) return false;
  since_question_.restart();
  if (!listener_.stop()) return false;
  if (!since_stop_) since_stop_.emplace();
  return since_stop_->seconds() > kLongestWait;
}

}  // namespace regard::train
