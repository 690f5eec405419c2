// Effect of ablating a single head on the results of a pass, for each of the heads with the highest scores
// (HeadSummary::telling). The HTML page displays these effects, because it cannot run the model.
#pragma once

#include <cstdint>
#include <functional>

#include "inspect/attend.h"

namespace regard::inspect {

struct WhatIfOptions {
  std::int64_t heads = 10;   // maximum number of heads to ablate, one at a time
  bool generate = false;     // if true, also generate a text for each ablated head
  std::int64_t max_new = 0;  // maximum number of new tokens; 0 means the limit of the model folder
  // Called after each head. Return false to stop, which throws cancelled.
  std::function<bool(double share)> progress = {};
};

// Maximum number of source and target tokens together for which add_what_if() runs.
constexpr std::int64_t kMostWhatIfTokens = 96;

// Set view.what_if of a view made by attend(request): for each head, run one more pass over the same tokens
// and, if `generate` is set, one generation. Does nothing if the view has ablated heads, interventions,
// averaged heads or more than kMostWhatIfTokens tokens.
void add_what_if(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request,
                 const WhatIfOptions& options, View& view);

}  // namespace regard::inspect
