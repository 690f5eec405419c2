#include "api/file_reader.h"

#include "base/counted.h"
#include "base/placed.h"
#include "formats/safetensors.h"
#include "inspect/padded_side.h"
#include "inspect/run_names.h"
#include "regard/error.h"
#include "tasks/image_reader.h"
#include "tasks/shown_sound.h"
#include "tasks/sound_reader.h"

namespace regard::api {
namespace {

const InputSpec& spec_of(Network& model) {
  DualEncoder* const dual = dual_encoder_of(model);
  return (dual == nullptr ? model : dual->vision()).input_spec();
}

ModelInput read_image(const std::filesystem::path& folder, const InputSpec& spec, const std::string& file) {
  const data::Image image = data::read_one_image(file);
  return tasks::ImageReader(folder, spec).read({&image, 1})[0];
}

ModelInput read_tensors(const InputSpec& spec, const std::string& file) {
  const auto opened = formats::SafetensorsFile::open(file);
  inspect::TensorMap inputs;
  for (const formats::TensorEntry& entry : opened->entries())
    if (entry.name == spec.name || entry.name == "attention_mask")
      inputs[entry.name] = opened->tensor(entry.name).clone();
  return placed({file}, [&] {
    std::vector<ModelInput> rows = inspect::PaddedSide(inspect::usable_inputs(inputs), spec).inputs();
    if (rows.size() != 1)
      throw input_error(std::string("\"") + spec.name + "\" has a wrong number of rows")
          .found(counted(rows.size(), "row"))
          .expected("1 row");
    return std::move(rows[0]);
  });
}

inspect::FileInput read_sound(const infer::LoadedModel& loaded, ThreadPool& pool, const std::string& file) {
  if (loaded.model->kind() != ModelKind::encoder_decoder || !loaded.target) {
    tasks::Input read = tasks::SoundReader(loaded.folder.path, loaded.model->input_spec(), pool).read(file);
    ModelInput& input = read;
    return {std::move(input)};
  }
  tasks::ShownSound sound = tasks::read_shown_sound(loaded, pool, file);
  return {std::move(sound.input), std::move(sound.prompt), std::move(sound.search)};
}

}  // namespace

inspect::FileReader file_reader(const infer::LoadedModel& loaded, ThreadPool& pool) {
  return [&loaded, &pool](const std::string& file) -> inspect::FileInput {
    const InputSpec& spec = spec_of(*loaded.model);
    if (file.ends_with(".safetensors")) return {read_tensors(spec, file)};
    if (spec.kind == InputKind::features) return read_sound(loaded, pool, file);
    return {read_image(loaded.folder.path, spec, file)};
  };
}

}  // namespace regard::api
