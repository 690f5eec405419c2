#include "inspect/pass_input.h"

#include "inspect/attend.h"
#include "inspect/attention_view.h"
#include "regard/error.h"

namespace regard::inspect {

std::vector<std::int32_t> read_ids(std::int32_t start, std::span<const std::int32_t> written) {
  std::vector<std::int32_t> ids{start};
  ids.insert(ids.end(), written.begin(), written.end() - 1);
  return ids;
}

PassInput pass_input(const infer::LoadedModel& loaded, ThreadPool& pool, std::string_view text,
                     std::string_view target, const TargetGeneration& generation) {
  const ModelKind kind = loaded.model->kind();
  loaded.model->input_spec().require(InputKind::tokens);
  if (!target.empty() && kind != ModelKind::encoder_decoder)
    throw usage_error("a target needs an encoder-decoder model").remedy("Remove the target");
  PassInput input;
  input.source = loaded.read(text);
  if (input.source.empty())
    throw input_error("the text has no tokens")
        .found("'" + std::string(text) + "'")
        .expected("a text of at least one token");
  if (kind == ModelKind::decoder) input.target = std::exchange(input.source, {}).ids;
  if (kind != ModelKind::encoder_decoder) return input;
  if (target.empty()) {
    AttendRequest request;
    request.text = std::string(text);
    input.written = generated_target(loaded, pool, request, generation);
  } else {
    input.written = written_ids(loaded, target);
  }
  if (input.written.empty())
    throw input_error("the model generates no tokens for the text '" + std::string(text) + "'")
        .remedy("Give a target");
  input.target = read_ids(loaded.options.start_token, input.written);
  return input;
}

std::vector<std::int32_t> generated_target(const infer::LoadedModel& loaded, ThreadPool& pool,
                                           const AttendRequest& request, const TargetGeneration& generation) {
  if (!generation.written.empty()) return generation.written;
  EditedPass edits(generation.edits);
  return generated_ids(loaded, pool, request, 0, edits.empty() ? nullptr : &edits, generation.between);
}

Tensor run_pass(Network& model, ThreadPool& pool, const PassInput& input, Probe* probe) {
  return run_with_probe(model, pool, input.source, input.target, probe);
}

Tensor run_pass(Network& model, ThreadPool& pool, const PassInput& input, const EditedPass* edits,
                Probe& observer) {
  EditedPass probe(edits, &observer);
  return run_pass(model, pool, input, edits == nullptr ? &observer : &probe);
}

}  // namespace regard::inspect
