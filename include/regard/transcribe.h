// Transcribe sound files with Whisper (Radford et al. 2022) or with wav2vec 2.0 and a CTC head.
//
//   regard::Transcriber transcriber(regard::load("models/whisper-tiny"));
//   regard::Transcript transcript = transcriber.transcribe("speech.wav");
//   std::string subtitles = format(transcript, "srt");
//
// WAV files (PCM, float, A-law, μ-law) are supported; FLAC, OGG and MP3 files require a build with
// libsndfile, and sampling rates other than the model's require a build with libsoxr.
//
// Results are bit-identical for any number of threads, and calls on one Transcriber are serialised. Errors
// are thrown as regard::Error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "regard/export.h"
#include "regard/model.h"

namespace regard {

// Options of a transcription. Fields other than `beam`, `word_times` and `interventions` apply only to
// Whisper.
struct TranscribeOptions {
  // Code of the language, such as "en". Default: "", which means that the model detects the language in the
  // first 30 seconds. For a CTC model: "" or the language of the loaded weights.
  std::string language = {};
  bool translate = false;  // translate to English
  bool timestamps = true;  // generate timestamps; if false, there is one segment per 30 seconds
  // text that is treated as a transcript of earlier audio; it may contain names whose spelling the model
  // should use
  std::string prompt = {};
  bool use_previous = true;  // use the transcript so far as the prompt of the next 30 seconds
  // temperatures of sampling, tried in this order
  std::vector<double> temperatures = {0.0, 0.2, 0.4, 0.6, 0.8, 1.0};
  // Decode again at the next temperature if the compression ratio is above `compression_ratio`, or if the
  // mean log-probability is below `log_probability`. Skip a window of 30 seconds if the probability of "no
  // speech" is above `no_speech` and the mean log-probability is below `log_probability`. std::nullopt
  // disables the rules that use the value.
  std::optional<double> compression_ratio = 2.4, log_probability = -1.0, no_speech = 0.6;
  std::int64_t beam = 1;   // width of the beam search; 1 selects the most probable token, or CTC's best path
  std::uint64_t seed = 1;  // seed of sampling
  // Compute word timestamps: from Whisper's cross-attention, or from the frames of CTC's labels.
  bool word_times = false;
  // Interventions applied in every forward pass (syntax: docs/looking.md), such as "zero cross.1.0" or
  // "uniform decoder.0.2".
  std::vector<std::string> interventions = {};
};

struct TranscriptWord {
  double start = 0.0, end = 0.0;  // seconds
  std::string text;               // text of the word; for Whisper, includes the preceding space
};

struct TranscriptSegment {
  double start = 0.0, end = 0.0;  // seconds
  std::string text;
  std::vector<std::int32_t> tokens;
  double temperature = 0.0, log_probability = 0.0, compression_ratio = 0.0, no_speech = 0.0;
  // words with their times; empty unless TranscribeOptions::word_times is set
  std::vector<TranscriptWord> words = {};
};

struct Transcript {
  std::string file;
  std::string language;   // code of the language; empty if the model has none
  double duration = 0.0;  // seconds
  std::vector<TranscriptSegment> segments;
};

class REGARD_API Transcriber {
 public:
  // Throws usage if the model does not transcribe or the options are invalid for it.
  explicit Transcriber(const Model& model, const TranscribeOptions& options = {});

  // Transcribe a file, and call on_segment for each segment as soon as it is complete; an exception of
  // on_segment stops the transcription and is rethrown. on_segment must not call this Transcriber, because
  // the call would wait for itself. Throws io if the file cannot be read, bad_file if it is not a valid sound
  // file, and numeric if the model's output is not finite.
  Transcript transcribe(const std::filesystem::path& file,
                        const std::function<void(const TranscriptSegment&)>& on_segment = {}) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// Return the transcript in a format: "text", "srt", "vtt", "tsv" or "json". Throws usage for another name,
// and for a time that is not from 0 to 10⁹ seconds.
REGARD_API std::string format(const Transcript& transcript, const std::string& format);

}  // namespace regard
