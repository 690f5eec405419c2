// What each head carries: the loss on examples with the output of one head after another set to zero. The
// layers below a head are not computed again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "inspect/head.h"
#include "inspect/resolve.h"
#include "inspect/study_pass.h"

namespace regard::inspect {

struct HeadLoss {
  Head head;
  double loss = 0;  // mean cross-entropy in nats without the head
  double lost = 0;  // loss minus that of the whole model
};

struct HeadSweep {
  double loss = 0;              // of the whole model (with HeadSweepOptions::off: without these heads)
  std::int64_t count = 0;       // predictions
  std::vector<HeadLoss> heads;  // the largest loss first; equal ones in the order of the heads
};

struct HeadSweepOptions {
  std::vector<Head> heads;  // empty: all
  std::vector<Head> off;    // heads that are off throughout
  // File of finished heads, one JSON object per line. Heads in it are not computed again, so that a sweep
  // that was interrupted continues; a file of another model, other data or other options throws usage. Empty:
  // none.
  std::filesystem::path state;
  // Called after each head with the share of the work done; return false to stop, which throws cancelled.
  std::function<bool(double share)> progress;
};

// Throws usage if an example has nothing to predict, or there is no such head.
HeadSweep sweep_heads(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
                      const HeadSweepOptions& options = {});

// Heads switched off together, chosen greedily: in each step the one that raises the loss most.
struct HeadSet {
  std::vector<HeadLoss> steps;  // lost: against the whole model, with all heads up to this one off
  double loss = 0;              // of the whole model
};
HeadSet sweep_head_sets(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
                        std::int64_t most_heads, HeadSweepOptions options = {});

}  // namespace regard::inspect
