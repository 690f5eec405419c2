// StudyContext: base class of the studies, with the model, the request, and functions that all studies use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "inspect/head_sweep.h"
#include "inspect/patching.h"
#include "inspect/study_views.h"

namespace regard::inspect {

class StudyContext {
 public:
  // All arguments must outlive the object.
  StudyContext(const infer::LoadedModel& loaded, ThreadPool& pool, const StudyRequest& request,
               std::uint64_t seed, const std::function<bool(double)>& progress, const MediaReader& media);

  // Throw usage if the study does not apply to this kind of model or input.
  void require_fit() const;
  // Resolve the request's interventions, and apply them in every later pass. Throws the errors of resolve().
  void read_interventions();
  // Add the interventions and EditedPass::warnings() to the table.
  void add_interventions(StudyTable& table) const;

 protected:
  // Throw usage if `value` is empty; `setting` is the name of the setting that has this value.
  void need(const std::string& value, const char* setting) const;
  void need_data() const { need(request_.data.files.empty() ? "" : request_.data.files[0], "data"); }
  // Return a function that reports the study's progress. It must be called once for each of `passes` passes.
  // If `passes` is 0, the number of passes is unknown, and the reported fraction is always 0.
  BetweenPasses between_passes(std::int64_t passes = 0) const;
  // Return the options for reading examples. If `limits` is true, --answer restricts the predictions.
  StudyDataOptions data_options(bool limits) const;
  // Return the examples in the data files or, without files, the example of --text. If `labels` is false, the
  // labels in the files are not read for an encoder.
  std::vector<StudyExample> examples(bool labels = true) const;
  // the example of --text; if `whole`, --answer does not restrict its labels
  StudyExample example(bool whole) const;
  FileReader file_reader() const;  // returns the reader of the files that interventions name
  bool reads_media() const { return model_.input_spec().kind != InputKind::tokens; }
  std::string token(std::int32_t id) const;
  // Return the class named `text` (classifiers), the first label of `text` (CTC heads), or the first token id
  // of `text` (other models).
  std::int32_t answer_id(const std::string& text) const;
  // Return the default position of the answer. Decoder: the last position. Encoder–decoder: the first
  // position with a known prediction. Masked language model: the first mask. Other models: 0.
  std::int64_t usual_position(const StudyExample& example) const;
  // Return the logit difference that the request's `position`, `answer` and `instead` define. By default, the
  // position is usual_position(), and the answer is the label at that position or, if `strongest` is true,
  // AnswerDifference::kStrongest. Throws usage if there is no such label.
  AnswerDifference answer_of(const StudyExample& example, bool strongest = false) const;
  std::string measured(const AnswerDifference& answer) const;  // returns `answer` described in words
  HeadSweepOptions sweep_options() const;
  // Return the names of the input's positions: tokens, patches or times.
  std::vector<std::string> labels_of(const StudyExample& example) const;
  const char* place_column() const;      // heading of the column that holds labels_of()
  const char* unit_of_distance() const;  // unit of HeadSummary::distance
  std::string input_title() const;       // "Text", "Image" or "Sound"
  static std::int64_t require_position(std::int64_t position, std::int64_t count);

  const infer::LoadedModel& loaded_;
  Network& model_;
  ThreadPool& pool_;
  const StudyRequest& request_;
  std::uint64_t seed_;
  const std::function<bool(double)>& progress_;
  const MediaReader& media_;
  std::unique_ptr<EditedPass> edits_;  // interventions of every pass; null if there are none

 private:
  void require_answer_fits() const;
};

}  // namespace regard::inspect
