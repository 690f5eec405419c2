#include "cli/look.h"

#include "inspect/ablation.h"
#include "inspect/attend.h"

namespace regard::cli {

void add_look_options(CLI::App& verb, LookOptions& options) {
  verb.add_option("--ablate", options.ablate,
                  "Heads to switch off: LAYER.HEAD or KIND.LAYER.HEAD, with commas; their output is zero");
  verb.add_option("--attend", options.attend,
                  "Write each input's attention to this file: one JSON object a line, as attend --json");
}

inspect::Kind usual_kind(ModelKind kind) {
  if (kind == ModelKind::encoder_decoder) return inspect::Kind::cross;
  return kind == ModelKind::decoder ? inspect::Kind::decoder : inspect::Kind::encoder;
}

Look::Look(const LookOptions& options, Network& model, ThreadPool& pool)
    : ablated_(inspect::parse_heads(options.ablate, usual_kind(model.kind()))),
      probe_(inspect::ablation(model, pool, ablated_)) {
  if (!options.attend.empty()) file_.emplace(options.attend);
}

void Look::write(const inspect::View& view) {
  write_line(inspect::to_json(view));
}

void Look::write_nothing() {
  write_line("");
}

void Look::write_line(const std::string& line) {
  if (file_) file_->write(line + "\n");
}

void Look::finish() {
  if (file_ && stop_signal() == 0) file_->commit();
}

void attend_written(Look& look, const infer::LoadedModel& model, ThreadPool& pool, const std::string& name,
                    const Looked& looked, const std::vector<std::int32_t>& written) {
  if (!look.attends()) return;
  if (written.empty()) return look.write_nothing();
  inspect::AttendRequest request;
  request.model_name = name, request.text = looked.text;
  request.reading = inspect::Reading{looked.ids, {}};
  request.written = written, request.ablated = look.ablated();
  // The last generated token was never an input, so the model may have no position for it.
  const std::int64_t room = model.model->max_positions() - std::ssize(looked.ids);
  if (model.model->kind() == ModelKind::decoder && room >= 0 && std::ssize(written) > room &&
      model.model->max_positions() > 0)
    request.written.resize(static_cast<std::size_t>(room));
  look.write(inspect::attend(model, pool, request));
}

}  // namespace regard::cli
