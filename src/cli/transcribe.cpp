// regard transcribe: transcribe sound files, with timestamps.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/placed.h"
#include "base/progress.h"
#include "base/require_writable.h"
#include "cli/adapter.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/result_output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "cli/weight_mode.h"
#include "regard/error.h"
#include "tasks/transcribe.h"

namespace regard::cli {
namespace {

namespace fs = std::filesystem;

struct TranscribeRequest {
  std::string model, adapter, format = "text", task = "transcribe", output, output_folder;
  std::vector<std::string> files;
  std::vector<double> temperatures;
  double compression_ratio = 2.4, log_probability = -1.0, no_speech = 0.6;
  bool no_timestamps = false, no_previous = false, no_fallback = false;
  ProbeOptions probes;
  tasks::TranscribeOptions options;
};

tasks::TranscribeOptions options_of(const TranscribeRequest& request, const Globals& globals, Probe* probe) {
  tasks::TranscribeOptions options = request.options;
  tasks::WhisperOptions& whisper = options.whisper;
  whisper.translates = request.task == "translate";
  whisper.timestamps = !request.no_timestamps, whisper.uses_previous = !request.no_previous;
  if (!request.temperatures.empty()) whisper.temperatures = request.temperatures;
  if (request.no_fallback) whisper.temperatures.resize(1);
  whisper.compression_ratio = request.compression_ratio;
  whisper.log_probability = request.log_probability, whisper.no_speech = request.no_speech;
  whisper.seed = globals.seed;
  options.ctc.beam = whisper.beam, options.ctc.word_times = whisper.word_times;
  whisper.probe = options.ctc.probe = probe;
  return options;
}

// Open the model, with the weights of the language if the folder has weights per language. Whisper selects
// its language by a token instead.
infer::LoadedModel open_model(const TranscribeRequest& request, const Globals& globals) {
  formats::ModelFolder folder = formats::ModelFolder::open(request.model);
  const std::string language = folder.languages().empty() ? "" : request.options.whisper.language;
  return infer::LoadedModel::open(std::move(folder), {.weight_mode = weight_mode(globals),
                                                      .reads = InputKind::features,
                                                      .adapter = request.adapter,
                                                      .language = language});
}

class TranscribeVerb {
 public:
  TranscribeVerb(const TranscribeRequest& request, Globals& globals)
      : request_(request),
        globals_(globals),
        format_(globals.json ? tasks::TranscriptFormat::json : *tasks::transcript_format_of(request.format)),
        loaded_(open_model(request, globals)),
        probes_(request.probes, loaded_, globals.pool()),
        transcriber_(placed({request.model}, [&] {
          return tasks::Transcriber(loaded_, globals.pool(), options_of(request, globals, probes_.probe()));
        })) {
    print_warning(loaded_.warning);
    loaded_.model->prepare_for_inference(globals.pool());
  }

  void run() {
    if (request_.output_folder.empty()) {
      ResultOutput output(request_.output);
      for (const std::string& file : request_.files) write(file, output);
      output.finish();
    } else {
      check_paths();
      std::error_code ignored;  // if the folder cannot be created, ResultOutput reports it
      fs::create_directories(request_.output_folder, ignored);
      for (const std::string& file : request_.files) {
        ResultOutput output(path_for(file).string());
        write(file, output);
        output.finish();
      }
    }
    probes_.finish();
  }

 private:
  fs::path path_for(const std::string& file) const {
    const fs::path name = file == "-" ? fs::path("standard-input") : fs::path(file).stem();
    return fs::path(request_.output_folder) / (name.string() + "." + tasks::extension_of(format_));
  }

  // Throw usage if two sounds have the same output file.
  void check_paths() const {
    std::map<fs::path, std::string> sources;
    for (const std::string& file : request_.files)
      if (const auto [other, added] = sources.try_emplace(path_for(file), file); !added)
        throw usage_error("two sounds have the same output file")
            .found(other->second + " and " + file + ": " + other->first.string())
            .remedy("Transcribe them into different folders");
  }

  void write(const std::string& file, ResultOutput& output) {
    ProgressBar bar(globals_.quiet);
    tasks::TranscriptWriter writer(format_, file);
    tasks::TranscribeListener listener;
    listener.segment = [&](const tasks::TranscriptSegment& segment) {
      bar.clear();
      output.write(writer.segment(segment));
      output.flush();
    };
    listener.reading = [&](double seconds) {
      throw_if_stopped();
      bar.update(0.0, file + " · read " + duration_text(seconds));
    };
    listener.decoding = [&](double fraction) {
      throw_if_stopped();
      bar.update(fraction, file);
    };
    output.write(writer.begin());
    const tasks::Transcript about = transcriber_.transcribe(file, listener);
    bar.clear();
    output.write(writer.end(about));
    output.flush();
  }

  const TranscribeRequest& request_;
  Globals& globals_;
  tasks::TranscriptFormat format_;
  infer::LoadedModel loaded_;
  ModelProbes probes_;
  tasks::Transcriber transcriber_;
};

void transcribe(const TranscribeRequest& request, Globals& globals) {
  const bool lines = globals.json || request.format == "text" || request.format == "json";
  if (!request.output_folder.empty() && !request.output.empty())
    throw usage_error("--output cannot be combined with --output-folder")
        .remedy("Remove one of the two options");
  if (request.files.size() > 1 && request.output_folder.empty() && !lines)
    throw usage_error("several transcripts in the format " + request.format +
                      " cannot be written to one output")
        .remedy("Use --output-folder");
  if (!request.output.empty() && request.output != "-") require_writable(request.output);
  if (request.options.whisper.word_times && !globals.json && request.format == "text")
    throw usage_error("--word-times is not available in the format \"text\"")
        .remedy("Use --format json, srt, vtt or tsv with --word-times");
  catch_signals();
  TranscribeVerb(request, globals).run();
}

void add_whisper_options(CLI::App& verb, TranscribeRequest& request) {
  tasks::WhisperOptions& whisper = request.options.whisper;
  verb.add_option(
      "--language", whisper.language,
      "Code of the language, such as en. Default: detected from the first 30 seconds; for MMS, the "
      "language of the model");
  add_checked_option(verb, "--task", request.task, "Task: transcribe, or translate to English",
                     CLI::IsMember({"transcribe", "translate"}));
  verb.add_option("--prompt", whisper.prompt,
                  "Text to put before the transcript as context, for example names in their correct spelling")
      ->check(valid_text());
  verb.add_flag("--no-timestamps", request.no_timestamps,
                "Write one segment per 30 seconds, without timestamps");
  verb.add_flag("--no-previous-text", request.no_previous,
                "Do not use the preceding text as the prompt of the next 30 seconds");
  verb.add_option("--temperatures", request.temperatures,
                  "Temperatures tried in order, separated by commas. Default: 0,0.2,0.4,0.6,0.8,1")
      ->delimiter(',');
  verb.add_flag("--no-fallback", request.no_fallback, "Use only the first temperature");
  verb.add_option("--compression-ratio", request.compression_ratio,
                  "Try the next temperature if the compression ratio of the text exceeds this")
      ->capture_default_str();
  verb.add_option("--log-probability", request.log_probability,
                  "Try the next temperature if the mean log-probability of the tokens is below this")
      ->capture_default_str();
  verb.add_option("--no-speech", request.no_speech,
                  "Skip a window of 30 seconds whose probability of silence exceeds this and whose mean "
                  "log-probability is below --log-probability")
      ->capture_default_str();
}

}  // namespace

void add_transcribe(CLI::App& app, Globals& globals) {
  const auto [verb, request] = add_command<TranscribeRequest>(
      app, "transcribe", "Transcribe sound files, with timestamps",
      "MODEL is a Whisper folder or a wav2vec 2.0 folder with a CTC head. WAV files (PCM, float, A-law,\n"
      "μ-law) are always read. FLAC, OGG and MP3 files require libsndfile in the build, and sampling rates\n"
      "other than the model's require libsoxr. Text is printed as soon as it is recognised. The memory used\n"
      "does not depend on the length of the sound. The options from --task to --no-speech are for Whisper;\n"
      "--language is for Whisper and MMS.");
  add_model_argument(*verb, request->model, "Hugging Face folder");
  verb->add_option("FILES", request->files, "Sound files; - is standard input")->required();
  add_checked_option(*verb, "--format", request->format,
                     "Format of the output: text, srt, vtt, tsv or json (one object per file)",
                     CLI::IsMember({"text", "srt", "vtt", "tsv", "json"}));
  verb->add_option("-o,--output", request->output,
                   "Write the transcripts to this file. Default: standard output")
      ->check(not_empty());
  verb->add_option(
          "--output-folder", request->output_folder,
          "Write one file per sound file to this folder, with the name of the sound file and the ending "
          "of --format, such as talk.srt for talk.wav")
      ->check(not_empty());
  add_whisper_options(*verb, *request);
  add_checked_option(*verb, "--beam", request->options.whisper.beam,
                     "Beam width of Whisper at temperature 0, or of the CTC beam search", positive());
  verb->add_flag("--word-times", request->options.whisper.word_times,
                 "Write word timestamps: a list in json, one row or subtitle per word in tsv and srt, times "
                 "within the text in vtt");
  add_adapter(*verb, request->adapter);
  add_changes(*verb, request->probes);
  add_quantize(*verb, globals);
  set_action(*verb, globals, request, transcribe, {.seed = true});
  verb->get_option("--format")->excludes("--json");
}

}  // namespace regard::cli
