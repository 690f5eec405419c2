#include "tasks/sound_reader.h"

#include "data/sound.h"

namespace regard::tasks {

SoundReader::SoundReader(const std::filesystem::path& folder, const InputSpec& spec, ThreadPool& pool)
    : pool_(pool) {
  spec.require(InputKind::features);
  processor_ = data::SoundProcessor::open(folder, spec.shape[0], spec.shape[1]);
}

Input SoundReader::read(const std::filesystem::path& file) const {
  const auto too_long =
      processor_.kind == data::SoundProcessor::Kind::samples ? data::TooLong::refuse : data::TooLong::cut;
  const std::vector<float> sound =
      data::read_sound(file, processor_.rate, processor_.most_seconds(), too_long);
  return Input(ModelInput(processor_.apply(pool_, sound)));
}

}  // namespace regard::tasks
