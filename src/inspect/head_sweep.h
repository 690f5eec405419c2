// Importance of each head: the loss on examples with the head's output set to zero, one head at a time.
// Values that do not depend on the ablated head are stored, up to a limit, and not computed again: the
// outputs of the layers before the head's layer, and the attention of the head's layer up to the output
// projection.
#pragma once

#include <cstddef>
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
  double loss = 0;  // mean cross-entropy in nats with the head ablated
  double lost = 0;  // `loss` minus HeadSweep::loss or HeadSet::loss
};

struct HeadSweep {
  double loss = 0;              // loss of the model with only the heads of HeadSweepOptions::off ablated
  std::int64_t count = 0;       // number of predictions
  std::vector<HeadLoss> heads;  // heads sorted by loss, largest first; heads with equal losses in head order
};

struct HeadSweepOptions {
  std::vector<Head> heads;  // heads to measure; empty means all
  std::vector<Head> off;    // heads ablated in all passes
  // Interventions applied in every forward pass, before the ablations; null means none. All losses, including
  // HeadSweep::loss, are then losses of the model with these interventions.
  const EditedPass* edits = nullptr;
  // Path of a state file, one JSON object per line; empty means none. Heads in the file are not measured
  // again, so that an interrupted sweep continues. Throws usage if the file belongs to another model, other
  // data or other options.
  std::filesystem::path state;
  // Limit of the stored values, in bytes. The values of a batch are stored if those of the batches before it
  // are below the limit. The losses do not depend on it.
  std::size_t most_stored = std::size_t{1} << 30;
  // Called after each head with the completed fraction of the work. Return false to stop, which throws
  // cancelled.
  std::function<bool(double share)> progress;
};

// Return the loss with each head ablated, one head at a time. Throws usage if an example has no target or a
// head does not exist, invalid_input if nothing is predicted in any example, and numeric if the loss without
// ablation is not finite.
HeadSweep sweep_heads(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
                      const HeadSweepOptions& options = {});

// Heads that are ablated together. They are chosen greedily: each step adds the head that raises the loss
// most.
struct HeadSet {
  // heads in the order in which they are ablated; HeadLoss::loss is measured with this head and all earlier
  // ones ablated
  std::vector<HeadLoss> steps;
  double loss = 0;  // loss of the model with only the heads of HeadSweepOptions::off ablated
};
HeadSet sweep_head_sets(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
                        std::int64_t most_heads, HeadSweepOptions options = {});

}  // namespace regard::inspect
