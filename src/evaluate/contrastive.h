// Retrieval of pictures by texts and of texts by pictures, with a dual encoder (CLIP, SigLIP).
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Data: see read_pictures() in evaluate/picture_data.h; the text describes the picture. Metrics: recall_at_1,
// _5 and _10 and mrr of pictures found by their texts, and text_recall_at_1 of texts found by their pictures.
// Equal texts count as one candidate.
Evaluation contrastive(const Subject& subject, const std::filesystem::path& folder, const DataOptions& data);

}  // namespace regard::evaluate
