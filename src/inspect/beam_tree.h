// Recording of a beam search, to display its hypotheses step by step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "infer/collector.h"
#include "inspect/attention_view.h"
#include "text/tokenizer.h"

namespace regard::inspect {

// Collects the steps of one beam search, and its results.
class BeamRecorder : public infer::Collector {
 public:
  BeamRecorder() : Collector(1) {}
  void beams(std::uint64_t, const infer::BeamStep& step) override { steps.push_back(step); }

  std::vector<infer::BeamStep> steps;
};

// Convert the steps of a beam search for display, and find the hypotheses that the search returned
// (`results`) in these steps. `tokenizer` may be null.
BeamTree beam_tree(std::span<const infer::BeamStep> steps, std::span<const infer::Hypothesis> results,
                   const infer::SearchOptions& options, const text::Tokenizer* tokenizer);

}  // namespace regard::inspect
