// Retrieval of images by texts and of texts by images, with a dual encoder (CLIP, SigLIP).
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Evaluate retrieval: recall_at_1, recall_at_5, recall_at_10 and mrr for finding images by their texts, and
// text_recall_at_1 for finding texts by their images; equal texts count as one candidate. Data: images with
// descriptions, as read_pictures() in evaluate/picture_data.h reads them.
Evaluation contrastive(const Subject& subject, const std::filesystem::path& folder, const DataOptions& data);

}  // namespace regard::evaluate
