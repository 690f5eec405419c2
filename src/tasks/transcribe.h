// Transcription of sound files by Whisper or by a model with a CTC head.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "formats/model_folder.h"
#include "tasks/ctc_recognizer.h"
#include "tasks/whisper.h"

namespace regard::tasks {

struct TranscribeOptions {
  WhisperOptions whisper;
  CtcRecognizerOptions ctc;
};

// Calls during a transcription; each may be empty, and may throw to stop it.
struct TranscribeListener {
  std::function<void(const TranscriptSegment&)> segment;  // in order of time
  std::function<void(double)> reading;                    // seconds of the sound read so far
  std::function<void(double)> decoding;                   // fraction of the sound decoded (Whisper)
};

class Transcriber {
 public:
  // `loaded` and `pool` must outlive this object. Throws usage if the model writes no transcripts or the
  // options do not fit it.
  Transcriber(const formats::ModelFolder& folder, const infer::LoadedModel& loaded, ThreadPool& pool,
              const TranscribeOptions& options);

  // Throws as data::SoundStream; numeric if the model's output is not finite. Memory does not depend on the
  // length of the sound. Returns language and duration; the segments are passed to the listener.
  Transcript transcribe(const std::filesystem::path& file, const TranscribeListener& listener);

 private:
  ThreadPool& pool_;
  data::SoundProcessor processor_;
  std::unique_ptr<Whisper> whisper_;  // one of the two
  std::unique_ptr<CtcRecognizer> ctc_;
};

}  // namespace regard::tasks
