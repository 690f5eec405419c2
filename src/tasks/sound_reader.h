// Convert sounds to model inputs, as the model's folder specifies.
#pragma once

#include <filesystem>

#include "base/thread_pool.h"
#include "data/sound_processor.h"
#include "tasks/reader.h"

namespace regard::tasks {

class SoundReader {
 public:
  // Throws usage if the model does not read sound, and bad_file for an invalid preprocessor_config.json.
  SoundReader(const std::filesystem::path& folder, const InputSpec& spec, ThreadPool& pool);

  // Read a whole file; see data/sound.h. A sound longer than the model's window is truncated. If the model's
  // input is the waveform, a sound longer than an hour throws invalid_input.
  Input read(const std::filesystem::path& file) const;

  const data::SoundProcessor& processor() const { return processor_; }

 private:
  data::SoundProcessor processor_;
  ThreadPool& pool_;
};

}  // namespace regard::tasks
