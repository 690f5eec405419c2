// JSON form of a hypothesis.
#pragma once

#include <string>

#include "base/json.h"
#include "infer/loaded_model.h"

namespace regard::infer {

// Return {"text", "score", "log_probability", "tokens", "ended"} and, if `each` is set, "pieces": the id,
// text and log-probability of each token.
Json hypothesis_json(const LoadedModel& model, const Hypothesis& hypothesis, const std::string& text,
                     bool each);

}  // namespace regard::infer
