// Probing (Alain and Bengio 2017): the accuracy of linear classifiers that predict a label from each layer's
// hidden states.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "inspect/study_data.h"
#include "inspect/study_table.h"

namespace regard::inspect {

struct LayerAccuracy {
  std::string layer;  // name of the layer: "embedding", "0", …
  double held_out = 0, train = 0;
};
struct LinearProbeResult {
  std::vector<LayerAccuracy> layers;
  std::int64_t labels = 0, fitted = 0, held_out = 0;
  // accuracy on the held-out inputs if the most frequent label of the training inputs is always predicted
  double majority = 0;
};

// Fit a multinomial logistic regression for each layer of the encoder, or of a decoder-only model. The
// features are the layer's hidden states, averaged over the positions and standardised. The L2 penalty is
// |weights|² / (2 · number of training inputs). A random fifth of the inputs, drawn with `seed`, is held out.
// `progress` is called with the completed fraction before every pass and gradient step. `edits` are
// interventions of every pass; may be null. Throws usage for fewer than 10 inputs or 2 labels, numeric if
// hidden states are not finite, cancelled if `progress` returns false, and the errors of reading an input.
LinearProbeResult probe_layers(Network& model, ThreadPool& pool, const std::vector<LabeledInput>& inputs,
                               std::uint64_t seed, const std::function<bool(double share)>& progress = {},
                               const EditedPass* edits = nullptr);

// Return the table of the study "probe", with one row per layer. `input` is "text", "image" or "sound".
StudyTable table_of(const LinearProbeResult& result, const char* input = "text");

}  // namespace regard::inspect
