#include "regard/transcribe.h"

#include <fmt/format.h>

#include "api/model_state.h"
#include "api/task_state.h"
#include "tasks/transcribe.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

tasks::TranscribeOptions inner(const TranscribeOptions& options, Probe* probe) {
  tasks::TranscribeOptions to;
  to.whisper.language = options.language, to.whisper.translates = options.translate;
  to.whisper.timestamps = options.timestamps, to.whisper.prompt = options.prompt;
  to.whisper.uses_previous = options.use_previous, to.whisper.temperatures = options.temperatures;
  to.whisper.compression_ratio = options.compression_ratio;
  to.whisper.log_probability = options.log_probability, to.whisper.no_speech = options.no_speech;
  to.whisper.beam = to.ctc.beam = options.beam, to.whisper.seed = options.seed;
  to.whisper.word_times = to.ctc.word_times = options.word_times;
  to.whisper.probe = to.ctc.probe = probe;
  return to;
}

// Copy the words to a vector of another word type.
template <class To, class From>
std::vector<To> words_as(const std::vector<From>& words) {
  std::vector<To> all;
  for (const From& word : words) all.push_back({word.start, word.end, word.text});
  return all;
}

TranscriptSegment outer(const tasks::TranscriptSegment& segment) {
  return {segment.start,
          segment.end,
          segment.text,
          segment.tokens,
          segment.temperature,
          segment.log_probability,
          segment.compression_ratio,
          segment.no_speech,
          words_as<TranscriptWord>(segment.words)};
}

// Throw usage unless a time can be written as hours, minutes, seconds and milliseconds.
void check_time(double seconds) {
  constexpr double kMostSeconds = 1e9;
  if (!(seconds >= 0.0 && seconds <= kMostSeconds))
    throw usage_error("format: a time of the transcript is out of range")
        .found(fmt::format("{} seconds", seconds))
        .expected(fmt::format("0 to {} seconds", kMostSeconds));
}

void check_times(const TranscriptSegment& segment) {
  check_time(segment.start), check_time(segment.end);
  for (const TranscriptWord& word : segment.words) check_time(word.start), check_time(word.end);
}

}  // namespace

struct REGARD_HIDDEN Transcriber::State {
  State(std::shared_ptr<api::ModelAccess::State> of, const TranscribeOptions& options)
      : model(std::move(of)),
        probe(api::probe_of(model->loaded, *turns.pool, {}, options.interventions)),
        transcriber(model->loaded, *turns.pool, inner(options, probe.get())) {}
  api::Turns turns;
  std::shared_ptr<api::ModelAccess::State> model;
  std::unique_ptr<Probe> probe;
  tasks::Transcriber transcriber;
};

Transcriber::Transcriber(const Model& model, const TranscribeOptions& options) {
  api::check_text(options.prompt);
  for (const std::string& one : options.interventions) api::check_text(one);
  state_ = api::made<State>(model, options);
}

Transcriber::State& Transcriber::state() const {
  return api::state_of(state_, "Transcriber");
}

Transcript Transcriber::transcribe(const std::filesystem::path& file,
                                   const std::function<void(const TranscriptSegment&)>& on_segment) const {
  State& state = this->state();
  const auto turn = state.turns.take();
  Transcript transcript;
  transcript.file = file.string();
  tasks::TranscribeListener listener;
  listener.segment = [&](const tasks::TranscriptSegment& segment) {
    transcript.segments.push_back(outer(segment));
    if (on_segment) on_segment(transcript.segments.back());
  };
  const tasks::Transcript about = state.transcriber.transcribe(file, listener);
  transcript.language = about.language, transcript.duration = about.duration;
  return transcript;
}

std::string format(const Transcript& transcript, const std::string& format) {
  const auto known = tasks::transcript_format_of(format);
  if (!known)
    throw usage_error("unknown transcript format").found(format).expected("text, srt, vtt, tsv or json");
  tasks::TranscriptWriter writer(*known, transcript.file);
  std::string all = writer.begin();
  for (const TranscriptSegment& one : transcript.segments) {
    check_times(one);
    all += writer.segment({one.start, one.end, one.text, one.tokens, one.temperature, one.log_probability,
                           one.compression_ratio, one.no_speech, words_as<tasks::TranscriptWord>(one.words)});
  }
  return all + writer.end({transcript.language, transcript.duration, {}});
}

}  // namespace regard
