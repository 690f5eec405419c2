// What the studies of one request have in common: the model, the examples, and the answer that is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "inspect/head_sweep.h"
#include "inspect/patching.h"
#include "inspect/study_views.h"

namespace regard::inspect {

class StudyContext {
 public:
  // Everything must outlive the object.
  StudyContext(const infer::LoadedModel& loaded, ThreadPool& pool, const StudyRequest& request,
               std::uint64_t seed, const std::function<bool(double)>& progress, const MediaReader& media);

  // Throw usage if the view does not apply to the kind of model or of its input.
  void require_fit() const;

 protected:
  void need(const std::string& value, const char* option) const;  // throws usage if `value` is empty
  void need_data() const { need(request_.data.files.empty() ? "" : request_.data.files[0], "DATA"); }
  // Return a function that reports progress, for a study that calls it `passes` times. Default: the study
  // does not report how far it is.
  BetweenPasses between_passes(std::int64_t passes = 0) const;
  // Options for examples. `limits`: with --examples and --answer.
  StudyDataOptions data_options(bool limits) const;
  std::vector<StudyExample> examples() const;  // of DATA, or of --text
  StudyExample example(bool whole) const;      // of --text; `whole`: --answer does not restrict its labels
  FileReader file_reader() const;              // reads the files of interventions
  bool reads_media() const { return model_.input_spec().kind != InputKind::tokens; }
  std::string token(std::int32_t id) const;
  std::int32_t answer_id(const std::string& text) const;  // id of a class, or of the first token of a text
  // Return the difference that --position, --answer and --instead select. Default position: the last one for
  // a decoder, otherwise the first one with a known prediction, or 0. Default answer: the label at that
  // position.
  AnswerDifference answer_of(const StudyExample& example) const;
  std::string measured(const AnswerDifference& answer) const;  // the difference in words
  HeadSweepOptions sweep_options() const;
  // Return the names of the input's positions: tokens, patches or times.
  std::vector<std::string> labels_of(const StudyExample& example) const;
  const char* place_column() const;      // name of the column of labels_of()
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
};

}  // namespace regard::inspect
