#include "regard/study.h"

#include "api/media_reader.h"
#include "api/model_state.h"
#include "api/task_state.h"
#include "base/counted.h"
#include "base/json.h"
#include "base/json_text.h"
#include "inspect/study_views.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

inspect::StudyRequest inner(const Model& model, std::string_view view, const StudyOptions& options) {
  for (const std::string* text : {&options.text, &options.target, &options.other, &options.other_target,
                                  &options.answer, &options.instead})
    api::check_text(*text);
  inspect::StudyRequest request;
  request.model = api::ModelAccess::state(model)->name;
  request.view = std::string(view);
  if (!options.data.empty()) request.data.files = {options.data.string()};
  for (const std::filesystem::path& file : options.more_data) request.data.files.push_back(file.string());
  request.data.columns = options.columns, request.data.header = options.header;
  request.data.highest = options.highest;
  request.state = options.state.string();
  request.alignments = options.alignments.string();
  request.text = options.text, request.target = options.target;
  request.other = options.other, request.other_target = options.other_target;
  request.answer = options.answer, request.instead = options.instead;
  request.interventions = options.interventions;
  for (const std::string& one : options.interventions) api::check_text(one);
  std::vector<inspect::Head> off;
  for (const HeadName& head : options.off) off.push_back(api::inner(head));
  request.off = inspect::text_of(off);
  request.position = options.position, request.examples = options.examples, request.most = options.most;
  request.steps = options.steps, request.length = options.length, request.sequences = options.sequences;
  return request;
}

inspect::StudyTable inner(const Study& study) {
  inspect::StudyTable table{.study = study.view,
                            .title = study.title,
                            .columns = study.columns,
                            .rows = study.rows,
                            .notes = study.notes,
                            .warnings = {}};
  for (const Study::Warning& one : study.warnings)
    table.warnings.push_back({one.intervention, inspect::progress_of(one.reason)});
  return table;
}

}  // namespace

std::vector<std::string> study_views() {
  return inspect::study_views();
}

Study study(const Model& model, std::string_view view, const StudyOptions& options) {
  const std::shared_ptr<api::ModelAccess::State>& state = api::ModelAccess::state(model);
  const inspect::StudyRequest request = inner(model, view, options);
  const auto progress = [&options](double share) { return !options.progress || options.progress(share); };
  const auto pool = api::pool();
  // The view "tokens" computes gradients, which requires f32 weights that are not packed for inference.
  infer::LoadedModel widened;
  if (request.view == "tokens") {
    infer::FolderSettings settings = state->settings;
    settings.weight_mode = WeightMode::widened;
    widened = infer::LoadedModel::open(state->loaded.folder, settings);
  }
  const infer::LoadedModel& loaded = request.view == "tokens" ? widened : state->loaded;
  inspect::StudyTable table =
      inspect::study_table(loaded, *pool, request, options.seed, progress, api::media_reader(loaded, *pool));
  Study study{std::move(table.study), std::move(table.title), std::move(table.columns), std::move(table.rows),
              std::move(table.notes)};
  for (const inspect::InterventionWarning& one : table.warnings)
    study.warnings.push_back({one.intervention, one.reason(), one.text()});
  return study;
}

std::string format(const Study& study, std::string_view format, std::size_t most_rows) {
  const inspect::StudyTable table = inner(study);
  for (const Study::Row& row : study.rows)
    if (row.size() != study.columns.size())
      throw usage_error("the number of cells of a row differs from the number of columns")
          .found(counted(row.size(), "cell"))
          .expected(counted(study.columns.size(), "cell"));
  if (format == "text") return table.text(most_rows);
  if (format == "csv") return table.csv();
  if (format == "svg") return table.svg();
  if (format == "json") return json_text(table.json()) + "\n";
  throw usage_error("unknown format of a study")
      .found("'" + std::string(format) + "'")
      .expected("text, csv, json or svg");
}

}  // namespace regard
