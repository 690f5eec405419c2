// Validation of a run's model, and which of two validations is better.
#pragma once

#include "infer/stoppable_search.h"
#include "train/listener.h"
#include "train/run_config.h"
#include "train/training_context.h"

namespace regard::train {

// Collective. Validate the current weights; ranks share the losses and the decoding of translations, and each
// computes all of the rest. The caller sets `best` and `averaged` of the result. Throws Stopped as soon
// as `stop` returns true (on all ranks if it does on one), and numeric if the loss is not finite.
ValidationReport validate(TrainingContext& context, const infer::Stop& stop = {});

// Return the value of config.best_metric() in a report; whether `value` of that metric is better than
// `than`.
double deciding_value(const RunConfig& config, const ValidationReport& report);
bool better(const RunConfig& config, double value, double than);

}  // namespace regard::train
