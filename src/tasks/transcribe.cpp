#include "tasks/transcribe.h"

#include "base/plain_text.h"
#include "regard/error.h"

namespace regard::tasks {
namespace {

// Throws usage for an option of Whisper that would change the text, but that a CTC model does not have.
void check_ctc_options(const infer::LoadedModel& loaded, const WhisperOptions& options) {
  if (!options.language.empty() && options.language != loaded.language)
    throw usage_error("the language of this model is fixed")
        .found("language \"" + options.language + "\"")
        .remedy("Open the model with the weights of this language, or omit the language");
  if (options.translates)
    throw usage_error("this model cannot translate: it supports only transcription")
        .remedy("Use a Whisper model");
  if (!is_blank(options.prompt))
    throw usage_error("this model does not support prompts").remedy("Omit the prompt");
}

}  // namespace

Transcriber::Transcriber(const infer::LoadedModel& loaded, ThreadPool& pool, const TranscribeOptions& options)
    : pool_(pool) {
  const InputSpec& spec = loaded.model->input_spec();
  const bool writes = loaded.model->kind() == ModelKind::encoder_decoder,
             ctc = loaded.model->output() == Output::ctc;
  if (spec.kind != InputKind::features || (!writes && !ctc))
    throw usage_error("this model cannot transcribe")
        .expected("a speech-recognition model: Whisper, or wav2vec 2.0 with a CTC head");
  if (ctc) check_ctc_options(loaded, options.whisper);
  processor_ = data::SoundProcessor::open(loaded.folder.path, spec.shape[0], spec.shape[1]);
  if (ctc)
    ctc_ = std::make_unique<CtcRecognizer>(loaded, pool, processor_, options.ctc);
  else
    whisper_ = std::make_unique<Whisper>(loaded, pool, options.whisper);
}

Transcript Transcriber::transcribe(const std::filesystem::path& file, const TranscribeListener& listener) {
  data::SoundStream sound(file, processor_.rate);
  const auto found = [&](const TranscriptSegment& segment) {
    if (listener.segment) listener.segment(segment);
  };
  if (ctc_) return ctc_->transcribe(sound, found, listener.reading);
  LongFeatures features(sound, processor_, pool_, listener.reading);
  const double frame_seconds = static_cast<double>(processor_.hop) / static_cast<double>(processor_.rate);
  return whisper_->transcribe(features, frame_seconds, found, listener.decoding);
}

}  // namespace regard::tasks
