#include "api/media_reader.h"

#include <memory>
#include <utility>

#include "api/file_reader.h"
#include "data/picture_rows.h"
#include "data/sound_rows.h"
#include "models/dual_encoder.h"
#include "tasks/image_reader.h"
#include "tasks/shown_sound.h"
#include "train/speech_text.h"

namespace regard::api {
namespace {

inspect::MediaInput sound_input(const infer::LoadedModel& loaded, ThreadPool& pool,
                                const std::filesystem::path& file) {
  tasks::ShownSound sound = tasks::read_shown_sound(loaded, pool, file);
  inspect::FileInput input{std::move(sound.input), std::move(sound.prompt)};
  if (!input.prompt.empty()) input.search = std::move(sound.search);
  return {std::move(input), std::move(sound.labels), sound.cut};
}

std::vector<inspect::MediaRow> sound_rows(const infer::LoadedModel& loaded, ThreadPool& pool,
                                          const data::DataFiles& data) {
  const bool classes = loaded.model->output() == Output::sequence_classes;
  std::vector<inspect::MediaRow> rows;
  for (data::SoundRow& row : data::read_sound_rows(data, classes ? "label" : "text"))
    rows.push_back({row.name, std::move(row.text), row.place,
                    [&loaded, &pool, file = row.file] { return sound_input(loaded, pool, file); }});
  return rows;
}

std::vector<inspect::MediaRow> picture_rows(const infer::LoadedModel& loaded, const data::DataFiles& data) {
  DualEncoder* const dual = dual_encoder_of(*loaded.model);
  const auto reader = std::make_shared<tasks::ImageReader>(
      loaded.folder.path, (dual == nullptr ? *loaded.model : dual->vision()).input_spec());
  std::vector<inspect::MediaRow> rows;
  for (data::PictureRow& row : data::read_picture_rows(data).rows) {
    const auto kept = std::make_shared<data::PictureRow>(std::move(row));
    rows.push_back({kept->name(), kept->text, kept->place, [reader, kept] {
                      const data::Image image = kept->read();
                      return inspect::MediaInput{{reader->read({&image, 1})[0]}};
                    }});
  }
  return rows;
}

}  // namespace

inspect::MediaReader media_reader(const infer::LoadedModel& loaded, ThreadPool& pool) {
  const bool sounds = loaded.model->input_spec().kind == InputKind::features;
  inspect::MediaReader reader;
  reader.file = [&loaded, &pool, sounds,
                 read = file_reader(loaded, pool)](const std::string& file) -> inspect::MediaInput {
    if (sounds && !file.ends_with(".safetensors")) return sound_input(loaded, pool, file);
    return {read(file)};
  };
  reader.rows = [&loaded, &pool, sounds](const data::DataFiles& data) {
    return sounds ? sound_rows(loaded, pool, data) : picture_rows(loaded, data);
  };
  reader.ctc_labels = [&loaded](const std::string& text) {
    formats::ModelFolder folder = loaded.folder;
    if (!loaded.language.empty()) folder.select_language(loaded.language);
    return train::CtcCharacters(folder, loaded.language).encode(text);
  };
  return reader;
}

}  // namespace regard::api
