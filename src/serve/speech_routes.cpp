// POST /v1/audio/transcriptions and /v1/audio/translations of OpenAI's API.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include "regard/error.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/language_names.h"
#include "serve/memory_file.h"
#include "serve/openai_routes.h"
#include "serve/request_edits.h"
#include "serve/request_file.h"
#include "tasks/transcribe.h"

namespace regard::serve {
namespace {

using tasks::TranscriptFormat;

// maximum duration of a sound, because a small FLAC file may contain weeks of silence
constexpr double kMostSeconds = 8 * 3600;

void refuse_unavailable(const Call& call) {
  const auto refuse = [](const char* name, const char* what) {
    throw HttpError(400, std::string("this server does not support ") + what, "unsupported_parameter", name);
  };
  if (call.value("stream", false)) refuse("stream", "streamed transcripts");
  if (call.has("timestamp_granularities[]"))
    for (const Json& one : call.body["timestamp_granularities[]"])
      if (one == "word") refuse("timestamp_granularities[]", "word timestamps");
}

tasks::TranscribeOptions options_of(const Call& call, const ModelHost& host, bool translates, Probe* probe) {
  tasks::TranscribeOptions options;
  tasks::WhisperOptions& whisper = options.whisper;
  whisper.translates = translates;
  whisper.probe = options.ctc.probe = probe;
  // A CTC model has one fixed language. The request's language is ignored, because many clients always send
  // one.
  if (host.loaded().model->output() != Output::ctc)
    whisper.language = call.value<std::string>("language", "");
  whisper.prompt = call.value<std::string>("prompt", "");
  // Temperature 0 selects the default list of temperatures, as in OpenAI's API. The list begins with 0. Each
  // higher temperature is tried only if the previous one gives an improbable or repetitive text.
  if (const double temperature = call.value<double>("temperature", 0.0); temperature > 0.0)
    whisper.temperatures = {temperature};
  return options;
}

TranscriptFormat format_of(const std::string& name) {
  if (name == "json" || name == "verbose_json") return TranscriptFormat::json;
  return *tasks::transcript_format_of(name);
}

// Return the transcript in the given format.
std::string transcript_of(Call& call, ModelHost& host, const tasks::TranscribeOptions& options,
                          TranscriptFormat format) {
  const FormPart& file = call.only_file();
  const MemoryFile sound(file.value);
  tasks::Transcriber transcriber(host.loaded(), host.pool(), options);
  tasks::TranscriptWriter writer(format, file.file_name);
  std::string text = writer.begin();
  const auto go_on = [&](double) { call.waiting.require(); };
  tasks::TranscribeListener listener;
  listener.decoding = go_on;
  listener.reading = [&](double seconds) {
    if (seconds > kMostSeconds)
      throw HttpError(400, "expected a sound of at most 8 hours, found a longer one", "invalid_file", "file");
    go_on(seconds);
  };
  listener.segment = [&](const tasks::TranscriptSegment& segment) {
    text += writer.segment(segment);
    call.completion_tokens += segment.tokens.size();
  };
  try {
    const tasks::Transcript about = transcriber.transcribe(sound.path(), listener);
    text += writer.end(about);
  } catch (const Error& error) {
    refuse_file(error);
  }
  host.metrics().completion_tokens += call.completion_tokens;
  return text;
}

// Convert a JSON transcript (TranscriptFormat::json) to the format "verbose_json" of OpenAI's API: add "task"
// and replace the code of the language with its name.
Json verbose_json(const Json& transcript, bool translates) {
  Json json{{"task", translates ? "translate" : "transcribe"},
            {"duration", transcript["duration"]},
            {"text", transcript["text"]},
            {"segments", transcript["segments"]}};
  if (transcript.contains("language")) {
    std::string name = language_name(transcript["language"].get<std::string>());
    for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    json["language"] = name;
  }
  return json;
}

void answer_speech(Call& call, bool translates) {
  refuse_unavailable(call);
  call.only_file();  // refuse a request without exactly one file
  const auto host = call.find_model(Ability::transcribe);
  const auto name = call.value<std::string>("response_format", "json");
  const TranscriptFormat format = format_of(name);
  const ExclusiveUse use(call, *host);
  std::string text = transcript_of(call, *host, options_of(call, *host, translates, use.probe()), format);
  if (format != TranscriptFormat::json) return call.reply_text(std::move(text), "text/plain; charset=utf-8");
  const Json transcript = parse_json(text, "the transcript");
  if (name == "verbose_json") return call.reply(verbose_json(transcript, translates));
  call.reply(
      {{"text", transcript["text"]},
       {"usage", {{"type", "duration"}, {"seconds", std::ceil(transcript["duration"].get<double>())}}}});
}

void answer_transcription(Call& call) {
  answer_speech(call, false);
}

void answer_translation(Call& call) {
  answer_speech(call, true);
}

Route speech_route(const char* path, const char* summary, void (*handle)(Call&), Json request) {
  using namespace schema;
  Route route = json_route(Protocol::openai, path, summary, handle, std::move(request),
                           object({{"text", text()}}, {"text"}));
  route.also_text = route.forms = route.files = route.heavy = true;
  return route;
}

}  // namespace

void add_openai_speech_routes(std::vector<Route>& routes) {
  using namespace schema;
  const Json formats = one_of({"json", "text", "srt", "verbose_json", "vtt"});
  Json request = object({{"file", described(text(1000), "A sound file")},
                         {"model", text(1000)},
                         {"language", described(text(32), "Language code. Default: detected from the sound")},
                         {"prompt", text(10000)},
                         {"response_format", formats},
                         {"temperature", schema::number(0, 1)},
                         {"timestamp_granularities[]", array(one_of({"segment", "word"}), 0, 2)},
                         {"stream", boolean()},
                         {"interventions", interventions_schema()}},
                        {"file"});
  routes.push_back(speech_route("/v1/audio/transcriptions", "Transcribe a sound file, with timestamps",
                                answer_transcription, request));
  request["properties"].erase("language");
  routes.push_back(speech_route("/v1/audio/translations", "The text of a sound file in English",
                                answer_translation, request));
}

}  // namespace regard::serve
