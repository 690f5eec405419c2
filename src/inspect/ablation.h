// Ablation for work that runs many passes: heads that stay switched off in all of them.
#pragma once

#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "inspect/capture.h"
#include "models/network.h"

namespace regard::inspect {

// A probe that multiplies the output of these heads with 0, before the output projection joins them, and
// looks at nothing; null where `heads` is empty. Goes where passes are run: infer::SearchOptions::probe,
// tasks::Options::probe, Tape::probe. One small pass finds out which heads the model has. Throws usage naming
// the first that is not there, and what is.
std::unique_ptr<Probe> ablation(Network& model, ThreadPool& pool, const std::vector<Head>& heads);

}  // namespace regard::inspect
