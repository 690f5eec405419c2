// Evaluation of captions that a model generates for images, by comparison with reference captions.
#pragma once

#include <filesystem>

#include "evaluate/evaluation.h"
#include "metrics/metric_text.h"

namespace regard::evaluate {

struct CaptioningOptions {
  bool lowercase = false;  // convert to lower case before BLEU and chrF
  metrics::MetricTokenizer tokenizer = metrics::MetricTokenizer::v13a;
};

// Generate a caption for each image with the options of subject.model, and compare it with the reference
// caption.
//   Metrics: exact_match (the fraction of captions with the same words as the reference), BLEU and chrF.
//   Data: images with captions; see read_pictures() in evaluate/picture_data.h.
Evaluation captioning(const Subject& subject, const DataOptions& data, const CaptioningOptions& options);

}  // namespace regard::evaluate
