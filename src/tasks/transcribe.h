// Transcription of sound files by Whisper or by a model with a CTC head.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "tasks/ctc_recognizer.h"
#include "tasks/whisper.h"

namespace regard::tasks {

struct TranscribeOptions {
  WhisperOptions whisper;
  CtcRecognizerOptions ctc;
};

// Callbacks of a transcription; each may be empty. An exception that a callback throws stops the
// transcription.
struct TranscribeListener {
  std::function<void(const TranscriptSegment&)> segment;  // called for each segment, in order of time
  std::function<void(double)> reading;                    // called with the seconds of the sound read so far
  std::function<void(double)> decoding;  // Whisper only: called with the fraction of the sound decoded
};

class Transcriber {
 public:
  // `loaded` and `pool` must outlive this object. Throws usage if the model does not transcribe or the
  // options are invalid for it.
  Transcriber(const infer::LoadedModel& loaded, ThreadPool& pool, const TranscribeOptions& options);

  // Return the duration and, for Whisper, the language; the segments are passed to the listener. Memory does
  // not depend on the length of the sound. Throws the errors of data::SoundStream, and numeric if the model's
  // output is not finite.
  Transcript transcribe(const std::filesystem::path& file, const TranscribeListener& listener);

 private:
  ThreadPool& pool_;
  data::SoundProcessor processor_;
  std::unique_ptr<Whisper> whisper_;  // exactly one of whisper_ and ctc_ is set
  std::unique_ptr<CtcRecognizer> ctc_;
};

}  // namespace regard::tasks
