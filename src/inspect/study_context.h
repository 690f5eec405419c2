// Data and functions that all studies of a request share: the model, the examples, and the measured answer.
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

  // Throw usage if the study does not apply to the kind of model or of its input.
  void require_fit() const;
  // Find the places of the interventions. They apply to every pass after this call. Throws the errors of
  // resolve().
  void read_interventions();
  // Add the interventions and EditedPass::warnings() to the table.
  void add_interventions(StudyTable& table) const;

 protected:
  // Throw usage if `value`, the value of the setting with this name, is empty.
  void need(const std::string& value, const char* setting) const;
  void need_data() const { need(request_.data.files.empty() ? "" : request_.data.files[0], "data"); }
  // Return a function that reports progress, for a study that calls it `passes` times. Default: the study
  // reports no fraction of its work.
  BetweenPasses between_passes(std::int64_t passes = 0) const;
  // Return the options for reading examples. If `limits` is true, --answer restricts the predictions.
  StudyDataOptions data_options(bool limits) const;
  // Return the examples of the data, or that of the text. If `labels` is false, those of an encoder have
  // none.
  std::vector<StudyExample> examples(bool labels = true) const;
  // the example of --text; if `whole`, --answer does not restrict its labels
  StudyExample example(bool whole) const;
  FileReader file_reader() const;  // returns the reader of the files that interventions name
  bool reads_media() const { return model_.input_spec().kind != InputKind::tokens; }
  std::string token(std::int32_t id) const;
  // returns the id of a class, or of a text's first token
  std::int32_t answer_id(const std::string& text) const;
  // Return the position where the answer is predicted, if none is given: the last one for a decoder, the
  // first one with a known prediction for an encoder–decoder, the first mask for a masked language model,
  // else 0.
  std::int64_t usual_position(const StudyExample& example) const;
  // Return the difference that the position, `answer` and `instead` select. Default position:
  // usual_position(). Default answer: the label at that position, or AnswerDifference::kStrongest if
  // `strongest` is true.
  AnswerDifference answer_of(const StudyExample& example, bool strongest = false) const;
  std::string measured(const AnswerDifference& answer) const;  // returns a description of the difference
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
};

}  // namespace regard::inspect
