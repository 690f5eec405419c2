// Transcripts: the text of a sound, divided into segments with times. A TranscriptWriter formats them for
// files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::tasks {

struct TranscriptWord {
  double start = 0.0, end = 0.0;  // seconds from the start of the sound
  std::string text;               // text of the word; for Whisper, includes the preceding space
};

struct TranscriptSegment {
  double start = 0.0, end = 0.0;  // seconds from the start of the sound
  std::string text;               // text of the segment, without surrounding white space
  std::vector<std::int32_t> tokens;
  // The next four members describe the window that contains the segment, as decoded by Whisper. A CTC model
  // sets only log_probability.
  double temperature = 0.0;
  // mean log-probability (natural logarithm) of the window's tokens; for CTC, of the segment's frames
  double log_probability = 0.0;
  // size of the window's text in bytes / its size after compression by zlib; 0 if unknown
  double compression_ratio = 0.0;
  double no_speech = 0.0;               // probability of the token "no speech"
  std::vector<TranscriptWord> words{};  // empty unless word timestamps are requested
};

struct Transcript {
  std::string language;   // code, such as "en"; empty if the model has no languages
  double duration = 0.0;  // seconds
  std::vector<TranscriptSegment> segments;
};

enum class TranscriptFormat { text, srt, vtt, json, tsv };

// Return the format with this name; nullopt if there is none.
std::optional<TranscriptFormat> transcript_format_of(std::string_view name);
const char* extension_of(TranscriptFormat format);  // return the file extension, such as "srt"

// Formats a transcript as plain text, SubRip, WebVTT, tab-separated values (times in milliseconds), or one
// JSON object. To write a file, join begin(), segment() for each segment, and end(). If the segments have
// word timestamps, SubRip and tab-separated files have one entry per word, WebVTT has times inside the text,
// and JSON has a list "words".
class TranscriptWriter {
 public:
  // `file` is the name of the sound file, which the JSON format contains.
  TranscriptWriter(TranscriptFormat format, std::string file);

  std::string begin() const;
  std::string segment(const TranscriptSegment& segment);
  std::string end(const Transcript& transcript) const;  // uses only the language and duration of `transcript`

 private:
  std::string cue(double start, double end, const std::string& text);
  std::string segment_json(const TranscriptSegment& segment);

  TranscriptFormat format_;
  std::string file_;
  std::int64_t count_ = 0;
  std::string json_;  // JSON of the segments so far, separated by commas
  std::string text_;  // texts of the segments, separated by spaces; only for JSON
};

}  // namespace regard::tasks
