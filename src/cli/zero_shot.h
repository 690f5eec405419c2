// regard classify with a dual encoder: classify images by labels given as words.
#pragma once

#include <string>
#include <vector>

#include "cli/classify.h"

namespace regard::cli {

// Classify the images of the request by its labels.
void classify_by_words(const ClassifyRequest& request, Globals& globals);

}  // namespace regard::cli
