// regard classify with a dual encoder: zero-shot classification of images by the labels in --labels.
#pragma once

#include <string>
#include <vector>

#include "cli/classify.h"

namespace regard::cli {

// Classify the images that `request` names, with the labels in request.labels.
void classify_by_words(const ClassifyRequest& request, Globals& globals);

}  // namespace regard::cli
