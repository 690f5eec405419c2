// One validation of a run's model: loss, and where asked translations with their scores.
#pragma once

#include "infer/stoppable_search.h"
#include "train/listener.h"
#include "train/run_config.h"
#include "train/workshop.h"

namespace regard::train {

// best and averaged are left to the caller. Throws Stopped as soon as `stop` says true, and numeric where the
// loss is not finite: such a model is never the best.
ValidationReport validate(const RunConfig& config, Workshop& shop, const infer::Stop& stop = {});

// The value of the metric that decides, and whether `value` is better than `than`.
double deciding_value(const RunConfig& config, const ValidationReport& report);
bool better(const RunConfig& config, double value, double than);

}  // namespace regard::train
