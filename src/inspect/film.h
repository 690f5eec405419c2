// Attention weights of selected heads in all checkpoints of a training run ("training film").
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
  std::int64_t max_new = 0;  // maximum number of new tokens; 0 means the limit of the model folder
  // Called after each checkpoint. If it returns false, add_film() throws cancelled.
  std::function<bool(double share)> progress = {};
};

// Run every checkpoint of the run folder on the tokens of `view`, which must be the result of
// attend(request). Store the attention weights of the heads with the highest scores (HeadSummary::telling) in
// view.film. If a single head has more than 300,000 attention weights over all checkpoints, only add a
// sentence to view.left_out. Throws usage if `run` is not a run folder or has fewer than two checkpoints, or
// if the request has ablated heads, interventions or averaged heads.
void add_film(const std::filesystem::path& run, ThreadPool& pool, const AttendRequest& request,
              const FilmOptions& options, View& view);

}  // namespace regard::inspect
