// The studies of `regard study`, each as a table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "inspect/study_table.h"

namespace regard::inspect {

struct StudyRequest {
  std::string model, data, view = "heads";
  std::string text, target, other, other_target, answer, instead, off, state, alignments;
  std::vector<std::string> interventions;  // interventions of every pass, for the view "tokens"
  std::int64_t position = -1, examples = 0, most = 3, steps = 50, length = 20, sequences = 8;
};

// Names of the views, for --view.
std::vector<std::string> study_views();

// Run the study. progress(share) is called during long studies; if it returns false, the study stops. Throws
// usage for an unknown view or a missing option, and the errors of the study.
StudyTable study_table(const infer::LoadedModel& loaded, ThreadPool& pool, const StudyRequest& request,
                       std::uint64_t seed, const std::function<bool(double share)>& progress);

}  // namespace regard::inspect
