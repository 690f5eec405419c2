// Retrieval of images by texts and of texts by images, with a dual encoder (CLIP, SigLIP).
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Data: see read_pictures() in evaluate/picture_data.h; the text describes the image. Metrics: recall_at_1,
// recall_at_5, recall_at_10 and mrr for finding images by their texts; text_recall_at_1 for finding texts by
// their images. Equal texts count as one candidate.
Evaluation contrastive(const Subject& subject, const std::filesystem::path& folder, const DataOptions& data);

}  // namespace regard::evaluate
