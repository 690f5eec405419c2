// Retrieval of images by texts and of texts by images, with a dual encoder (CLIP, SigLIP).
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"

namespace regard::evaluate {

// Evaluate retrieval.
//   Metrics of images retrieved by their texts: recall_at_1, recall_at_5, recall_at_10, mrr.
//   Metric of texts retrieved by their images: text_recall_at_1. Equal texts count as one candidate.
//   Data: images with descriptions; see read_pictures() in evaluate/picture_data.h.
Evaluation contrastive(const Subject& subject, const DataOptions& data);

}  // namespace regard::evaluate
