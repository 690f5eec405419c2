// Transcription of sound files: Whisper (Radford et al. 2022), or wav2vec 2.0 with a CTC head.
//
//   regard::Transcriber transcriber(regard::load("models/whisper-tiny"));
//   regard::Transcript transcript = transcriber.transcribe("speech.wav");
//   std::string subtitles = format(transcript, "srt");
//
// WAV files of every encoding; FLAC, OGG, MP3 and other sampling rates if the library was built with
// libsndfile and libsoxr. Results are bit-identical for any number of threads. An object may be used from
// several threads; its calls are serialised. Errors are thrown as regard::Error.
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

// Fields other than `beam` and `word_times` are for Whisper.
struct TranscribeOptions {
  std::string language = {};  // code, such as "en"; empty: found from the first 30 seconds
  bool translate = false;     // to English
  bool timestamps = true;     // false: one segment per 30 seconds
  std::string prompt = {};    // text before the sound: names, spelling
  bool use_previous = true;   // the text so far is the prompt of the next 30 seconds
  std::vector<double> temperatures = {0.0, 0.2, 0.4, 0.6, 0.8, 1.0};  // tried in order
  // Try the next temperature above this ratio of compression, or below this mean log-probability; skip
  // silence above this probability of "no speech". Empty: never.
  std::optional<double> compression_ratio = 2.4, log_probability = -1.0, no_speech = 0.6;
  std::int64_t beam = 1;   // width of the beam search; 1: the most probable token, or CTC's best path
  std::uint64_t seed = 1;  // of sampling
  // Find the times of words: by Whisper's cross-attention, or from the frames of CTC's labels.
  bool word_times = false;
};

struct TranscriptWord {
  double start = 0.0, end = 0.0;  // seconds
  std::string text;               // Whisper: with the space before it
};

struct TranscriptSegment {
  double start = 0.0, end = 0.0;  // seconds
  std::string text;
  std::vector<std::int32_t> tokens;
  double temperature = 0.0, log_probability = 0.0, compression_ratio = 0.0, no_speech = 0.0;
  std::vector<TranscriptWord> words = {};  // if TranscribeOptions::word_times
};

struct Transcript {
  std::string file;
  std::string language;   // code; empty: the model has none
  double duration = 0.0;  // seconds
  std::vector<TranscriptSegment> segments;
};

class REGARD_API Transcriber {
 public:
  // Throws usage if the model writes no transcripts, or the options do not fit it.
  explicit Transcriber(const Model& model, const TranscribeOptions& options = {});

  // on_segment is called for each segment as soon as it is complete; an exception that it throws stops the
  // transcription and is passed on. Throws io or bad_file for a file that is not a sound.
  Transcript transcribe(const std::filesystem::path& file,
                        const std::function<void(const TranscriptSegment&)>& on_segment = {}) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// Return the transcript as a file of this format: "text", "srt", "vtt", "tsv" or "json". Throws usage for
// another name.
REGARD_API std::string format(const Transcript& transcript, const std::string& format);

}  // namespace regard
