#include "train/validator.h"

#include <cmath>

#include "base/clock.h"
#include "distributed/stop_vote.h"

namespace regard::train {

ValidationReport validate(TrainingContext& context, const infer::Stop& stop) {
  const Stopwatch watch;
  ValidationReport report;
  report.step = context.trainer->steps();
  // Free the activations of the last step. Otherwise, they would be in memory together with the weights
  // packed for the validation, and increase the peak memory.
  context.trainer->arena().discard();
  bool stopped = false;
  distributed::StopVote vote(context.ranks);
  const infer::Stop on_any_rank = [&] { return vote.stopped(stop && stop()); };
  try {
    context.task->validate(*context.model,
                           {context.trainer->pool(), context.trainer->arena(), on_any_rank, &context.ranks},
                           report);
  } catch (const Stopped&) {
    stopped = true;
  }
  if (vote.finish(stopped)) throw Stopped{};
  report.seconds = watch.seconds();
  return report;
}

double deciding_value(const RunConfig& config, const ValidationReport& report) {
  const std::string name = config.best_metric();
  for (const MetricResult& metric : report.metrics)
    if (name == metric.kind.name) return metric.value;
  return report.loss;
}

bool better(const RunConfig& config, double value, double than) {
  if (std::isnan(value) || std::isnan(than)) return !std::isnan(value);
  const std::string name = config.best_metric();
  for (const MetricKind& metric : task_traits(config.task).metrics)
    if (name == metric.name && metric.higher_is_better) return value > than;
  return value < than;
}

}  // namespace regard::train
