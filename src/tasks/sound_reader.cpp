#include "tasks/sound_reader.h"

#include "data/sound.h"
#include "regard/error.h"

namespace regard::tasks {

SoundReader::SoundReader(const std::filesystem::path& folder, const InputSpec& spec, ThreadPool& pool)
    : pool_(pool) {
  spec.require(InputKind::features);
  processor_ = data::SoundProcessor::open(folder, spec.shape[0], spec.shape[1]);
}

Input SoundReader::read(const std::filesystem::path& file) const {
  data::SoundStream stream(file, processor_.rate);
  const bool any_length = processor_.kind == data::SoundProcessor::Kind::samples;
  const auto most =
      static_cast<std::size_t>(processor_.most_seconds() * static_cast<double>(processor_.rate)) + 1;
  std::vector<float> sound, piece(std::size_t{1} << 16);
  for (std::size_t got = piece.size(); got == piece.size() && sound.size() <= most;) {
    got = stream.read(piece);
    sound.insert(sound.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
  }
  if (any_length && sound.size() > most)
    throw input_error("the sound is too long for this model")
        .at({file.string(), -1, -1})
        .remedy("Split the file");
  return Input(ModelInput(processor_.apply(pool_, sound)));
}

}  // namespace regard::tasks
