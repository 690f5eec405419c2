// Ablation of attention heads in every forward pass of a task, such as beam search or evaluation.
#pragma once

#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "inspect/capture.h"
#include "models/network.h"

namespace regard::inspect {

// Return a probe that multiplies the outputs of `heads` by 0 before the output projection; null if `heads` is
// empty. Use it as infer::SearchOptions::probe, tasks::Options::probe or Tape::probe. Throws usage for a head
// that does not exist; the error names the first such head and the valid range.
std::unique_ptr<Probe> ablation(Network& model, ThreadPool& pool, const std::vector<Head>& heads);

}  // namespace regard::inspect
