// Output format of a hypothesis.
#pragma once

#include <string>

#include "base/json.h"
#include "infer/loaded_model.h"

namespace regard::cli {

// Return {"text", "score", "log_probability", "tokens", "ended"} and, if `each` is set, "pieces": the id,
// text and log-probability of each token.
Json hypothesis_json(const infer::LoadedModel& model, const infer::Hypothesis& hypothesis,
                     const std::string& text, bool each);

}  // namespace regard::cli
