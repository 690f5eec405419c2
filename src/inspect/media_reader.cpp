#include "inspect/media_reader.h"

#include <utility>

#include "inspect/attend.h"

namespace regard::inspect {

std::vector<std::string> position_names(const InputSpec& spec, const ModelInput& input) {
  std::vector<std::string> names;
  for (std::int64_t s = 0; s < spec.specials; ++s) names.push_back(s == 0 ? "[CLS]" : "[DIST]");
  for (std::int64_t row = 0; row < spec.patch_rows; ++row)
    for (std::int64_t column = 0; column < spec.patch_columns; ++column)
      names.push_back(std::to_string(row) + "," + std::to_string(column));
  for (std::int64_t i = 0; spec.patch_rows == 0 && i < spec.length_of(input); ++i)
    names.push_back(std::to_string(i));
  return names;
}

PassInput media_input(const infer::LoadedModel& loaded, ThreadPool& pool, const FileInput& file,
                      const std::string& name, std::string_view target, const TargetGeneration& generation) {
  const bool writes = loaded.model->kind() == ModelKind::encoder_decoder;
  if (!target.empty() && !writes)
    throw usage_error("a target needs an encoder-decoder model").remedy("Remove the target");
  PassInput input;
  input.source = file.input;
  if (!writes) return input;
  AttendRequest request;
  request.text = name, request.input = file.input, request.prompt = file.prompt;
  request.search = file.search ? &*file.search : nullptr;
  if (target.empty()) {
    request.written = generated_target(loaded, pool, request, generation);
  } else {
    if (!file.prompt.empty()) request.written.assign(file.prompt.begin() + 1, file.prompt.end());
    for (const std::int32_t id : written_ids(loaded, target)) request.written.push_back(id);
  }
  if (request.written.empty())
    throw input_error("the model generated no tokens for this file")
        .at({name, -1, -1})
        .remedy("Give the target text with --target");
  input.written = std::move(request.written);
  input.target = read_ids(loaded.options.start_token, input.written);
  return input;
}

}  // namespace regard::inspect
