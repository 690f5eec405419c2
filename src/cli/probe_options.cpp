#include "cli/probe_options.h"

#include "inspect/ablation.h"
#include "inspect/attend.h"
#include "inspect/capture_json.h"

namespace regard::cli {

void add_probe_options(CLI::App& verb, ProbeOptions& options) {
  verb.add_option("--ablate", options.ablate,
                  "Heads whose output is set to zero: LAYER.HEAD or KIND.LAYER.HEAD, separated by commas");
  verb.add_option(
      "--attend", options.attend,
      "Write the attention weights of each input to this file, one JSON object per line, as attend --json");
}

inspect::Kind usual_kind(ModelKind kind) {
  if (kind == ModelKind::encoder_decoder) return inspect::Kind::cross;
  return kind == ModelKind::decoder ? inspect::Kind::decoder : inspect::Kind::encoder;
}

ModelProbes::ModelProbes(const ProbeOptions& options, Network& model, ThreadPool& pool)
    : ablated_(inspect::parse_heads(options.ablate, usual_kind(model.kind()))),
      probe_(inspect::ablation(model, pool, ablated_)) {
  if (!options.attend.empty()) file_.emplace(options.attend);
}

void ModelProbes::write(const inspect::View& view) {
  write_line(inspect::to_json(view));
}

void ModelProbes::write_nothing() {
  write_line("");
}

void ModelProbes::write_line(const std::string& line) {
  if (file_) file_->write(line + "\n");
}

void ModelProbes::finish() {
  if (file_ && stop_signal() == 0) file_->commit();
}

void attend_written(ModelProbes& probes, const infer::LoadedModel& model, ThreadPool& pool,
                    const std::string& name, const AttendedInput& attended,
                    const std::vector<std::int32_t>& written) {
  if (!probes.attends()) return;
  if (written.empty()) return probes.write_nothing();
  inspect::AttendRequest request;
  request.model_name = name, request.text = attended.text;
  request.input = attended.input;
  request.written = written, request.ablated = probes.ablated();
  // The last generated token was never an input, so the model may have no position for it.
  const std::int64_t room = model.model->max_positions() - std::ssize(attended.input.ids);
  if (model.model->kind() == ModelKind::decoder && room >= 0 && std::ssize(written) > room &&
      model.model->max_positions() > 0)
    request.written.resize(static_cast<std::size_t>(room));
  probes.write(inspect::attend(model, pool, request));
}

}  // namespace regard::cli
