// The studies of `regard study`, each as a table.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "data/data_files.h"
#include "infer/loaded_model.h"
#include "inspect/media_reader.h"
#include "inspect/study_table.h"

namespace regard::inspect {

struct StudyRequest {
  std::string model, view = "heads";
  data::DataFiles data = {};  // examples of the study; see read_examples()
  // `text` and `other` are texts, or names of image or sound files.
  std::string text, target, other, other_target, answer, instead, off, state, alignments;
  std::vector<std::string> interventions;  // interventions of every pass
  std::int64_t position = -1, examples = 0, most = 3, steps = 50, length = 20, sequences = 8;
};

// Return the names of all studies, which are the values of StudyRequest::view.
std::vector<std::string> study_views();

// Return the error message for a study whose required setting (a field of StudyRequest) is empty. The command
// line recognises this message and adds the name of the option.
std::string needs_setting(const std::string& view, const std::string& setting);

// Run the study request.view and return its table. `media` reads images and sounds. progress(share) is called
// during long studies; if it returns false, the study throws cancelled. Throws usage if there is no such
// study, if a required setting is missing, if the study does not apply to the model, or if the model reads
// images or sounds and the functions of `media` are empty. Throws the errors of the study.
StudyTable study_table(const infer::LoadedModel& loaded, ThreadPool& pool, const StudyRequest& request,
                       std::uint64_t seed, const std::function<bool(double share)>& progress,
                       const MediaReader& media = {});

}  // namespace regard::inspect
