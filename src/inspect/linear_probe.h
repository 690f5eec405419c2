// Probing (Alain and Bengio 2017): the accuracy of linear classifiers that predict a label from each layer's
// states.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "inspect/between_passes.h"
#include "inspect/study_table.h"

namespace regard::inspect {

using LabeledTexts = std::vector<std::pair<std::string, std::string>>;

// Read lines TEXT<tab>LABEL; blank lines are skipped. `most` > 0 limits the number of texts. Throws
// invalid_input for a line without a label and for a file without texts.
LabeledTexts read_labeled_texts(const std::filesystem::path& path, std::int64_t most = 0);

struct LayerAccuracy {
  std::string layer;  // name of the layer: "embedding", "0", …
  double held_out = 0, train = 0;
};
struct LinearProbeResult {
  std::vector<LayerAccuracy> layers;
  std::int64_t labels = 0, fitted = 0, held_out = 0;
  // accuracy on the held-out texts if the most frequent label of the fitted texts is always predicted
  double majority = 0;
};

// Fit a multinomial logistic regression for each layer (of the encoder, or of a decoder-only model), with an
// L2 penalty of 1 / texts. Its input is the mean of the layer's states over the text's tokens, standardised.
// A random fifth of the texts is held out. The result is the same for equal seeds. Throws usage for fewer
// than 10 texts or 2 labels, invalid_input for a text without tokens. `between` is also called before every
// step of a regression.
LinearProbeResult probe_layers(const infer::LoadedModel& loaded, ThreadPool& pool, const LabeledTexts& texts,
                               std::uint64_t seed, const BetweenPasses& between = {});

// Return the layers as rows of a table, for the study "probe".
StudyTable table_of(const LinearProbeResult& result);

}  // namespace regard::inspect
