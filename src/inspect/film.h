// The attention of some heads in all checkpoints of a run ("training film").
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "inspect/attend.h"
#include "models/weights.h"

namespace regard::inspect {

struct FilmOptions {
  WeightMode weight_mode = WeightMode::stored;
  bool generate = false;     // if true, also generate a text with each checkpoint
  std::int64_t max_new = 0;  // maximum number of new tokens, as in generate_target()
  // Called after each checkpoint. Return false to stop, which throws cancelled.
  std::function<bool(double share)> progress = {};
};

// Set view.film of a view that attend(request) returned: run every checkpoint of the run folder over the
// tokens of the view, and store the attention weights of the heads with the highest scores
// (HeadSummary::telling). Throws usage if `run` is not a run folder, has fewer than two checkpoints, or the
// request has ablated heads, interventions or averaged heads. If the text is too long, the film is left out,
// and view.left_out says so.
void add_film(const std::filesystem::path& run, ThreadPool& pool, const AttendRequest& request,
              const FilmOptions& options, View& view);

}  // namespace regard::inspect
