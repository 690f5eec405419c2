#include "cli/probe_options.h"

#include "api/file_reader.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "inspect/ablation.h"
#include "inspect/attend.h"
#include "inspect/capture_json.h"
#include "inspect/resolve.h"
#include "models/dual_encoder.h"

namespace regard::cli {

void add_changes(CLI::App& verb, ProbeOptions& options) {
  verb.add_option(
          "--ablate", options.ablate,
          "Heads whose output is set to zero: LAYER.HEAD or KIND.LAYER.HEAD, separated by commas. KIND: "
          "encoder, decoder or cross; default: cross for an encoder-decoder. CLIP and SigLIP: "
          "text.LAYER.HEAD or vision.LAYER.HEAD")
      ->check(not_empty());
  add_intervene(verb, options.interventions);
}

void add_probe_options(CLI::App& verb, ProbeOptions& options) {
  verb.add_option("--attend", options.attend,
                  "Write the attention weights of each input to this file, one JSON object per line, in the "
                  "format of attend --json --full")
      ->check(not_empty());
  add_changes(verb, options);
}

void add_intervene(CLI::App& verb, std::vector<std::string>& interventions) {
  verb.add_option(
          "--intervene", interventions,
          "Change values in every pass: ACTION PLACE [KEY=VALUE …]; repeatable. ACTION: zero, mean,\n"
          "patch, add, scale, uniform, replace, freeze. PLACE: a head (cross.1.0), a layer (decoder.3) or a\n"
          "probe point (decoder.3.residual). text=TEXT or file=FILE (an image or sound) specifies the input\n"
          "from which patch, replace and other actions read values. See docs/looking.md")
      ->allow_extra_args(false);
}

ModelProbes::ModelProbes(const ProbeOptions& options, const infer::LoadedModel& model, ThreadPool& pool)
    : interventions_(options.interventions) {
  std::vector<inspect::Intervention> interventions;
  // For a dual encoder, the names of heads in --ablate begin with the name of an encoder (text or vision).
  if (dual_encoder_of(*model.model) != nullptr)
    interventions = inspect::ablations_in_towers(options.ablate);
  else
    ablated_ = inspect::parse_heads(options.ablate, usual_kind(model.model->kind()));
  for (inspect::Intervention& one : inspect::parse_interventions(options.interventions))
    interventions.push_back(std::move(one));
  ablation_ = inspect::ablation(*model.model, pool, ablated_);
  edits_ = inspect::resolve(*model.model, pool, &model, interventions, {}, api::file_reader(model, pool));
  if (edits_) edits_->set_observer(ablation_.get());
  if (!options.attend.empty()) file_.emplace(options.attend);
}

void ModelProbes::add_to(inspect::AttendRequest& request) const {
  request.ablated = ablated_;
  request.edits = edits_.get(), request.interventions = interventions_;
}

void ModelProbes::write(const inspect::View& view) {
  write_line(inspect::to_json(view, inspect::Precision::full));
}

void ModelProbes::write_nothing() {
  write_line("");
}

void ModelProbes::write_line(const std::string& line) {
  if (file_) file_->write(line + "\n");
}

void warn_of_unused(const inspect::EditedPass* edits) {
  if (edits == nullptr) return;
  for (const inspect::InterventionWarning& warning : edits->warnings())
    print_message("regard: warning: {}\n", warning.text());
}

void ModelProbes::finish() {
  warn_of_unused(edits_.get());
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
  request.written = written;
  probes.add_to(request);
  // The last generated token was never an input, so the model may have no position for it.
  const std::int64_t max_tokens = model.model->max_positions() - std::ssize(attended.input.ids);
  if (model.model->kind() == ModelKind::decoder && max_tokens >= 0 && std::ssize(written) > max_tokens &&
      model.model->max_positions() > 0)
    request.written.resize(static_cast<std::size_t>(max_tokens));
  probes.write(inspect::attend(model, pool, request));
}

}  // namespace regard::cli
