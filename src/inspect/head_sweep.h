// Importance of each head: the loss on examples with the head's output set to zero, one head at a time.
// Values that the head does not affect are not computed again: the layers below it, and the attentions of its
// layer up to their output projections.
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
  // Interventions of every pass, applied before the ablations; null means none. The loss of the whole model
  // is then that of the changed model.
  const EditedPass* edits = nullptr;
  // File of finished heads, one JSON object per line. Heads in it are not computed again, so that an
  // interrupted sweep continues. A file of another model, other data or other options throws usage. Empty
  // for no file.
  std::filesystem::path state;
  // Called after each head with the completed fraction of the work. Return false to stop, which throws
  // cancelled.
  std::function<bool(double share)> progress;
};

// Return the loss of the model without each head. Throws usage if an example has no target or a head does not
// exist, invalid_input if nothing is predicted in any example, and numeric if the loss without ablation is
// not finite.
HeadSweep sweep_heads(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
                      const HeadSweepOptions& options = {});

// Heads that are ablated together. They are chosen greedily: each step adds the head that raises the loss
// most.
struct HeadSet {
  // each head with the loss while it and all earlier ones are ablated
  std::vector<HeadLoss> steps;
  double loss = 0;  // loss of the whole model
};
HeadSet sweep_head_sets(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
                        std::int64_t most_heads, HeadSweepOptions options = {});

}  // namespace regard::inspect
