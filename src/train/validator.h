// Validation of a run's model, and comparison of two validations.
#pragma once

#include "infer/stoppable_search.h"
#include "train/listener.h"
#include "train/run_config.h"
#include "train/training_context.h"

namespace regard::train {

// Collective. Validate the current weights; the caller sets `best` and `averaged` of the result. The
// computation of losses and translations is divided among the ranks; each rank computes all other results.
// Throws Stopped on all ranks as soon as `stop` returns true on any of them, and numeric if the loss is not
// finite.
ValidationReport validate(TrainingContext& context, const infer::Stop& stop = {});

// deciding_value() returns the value of config.best_metric() in a report. better() returns true if `value` is
// better than `than` for that metric. A value may be NaN, such as the correlation of constant predictions;
// any number is better than NaN.
double deciding_value(const RunConfig& config, const ValidationReport& report);
bool better(const RunConfig& config, double value, double than);

}  // namespace regard::train
