// What was said in a sound, in pieces with times, and its formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::tasks {

struct TranscriptWord {
  double start = 0.0, end = 0.0;  // seconds from the start of the sound
  std::string text;               // Whisper: with the space before it
};

struct TranscriptSegment {
  double start = 0.0, end = 0.0;  // seconds from the start of the sound
  std::string text;               // without white space around it
  std::vector<std::int32_t> tokens;
  // Whisper's decoding of the window that the segment is from:
  double temperature = 0.0;
  double log_probability = 0.0;    // mean over the window's tokens, natural logarithm
  double compression_ratio = 0.0;  // bytes of the window's text over its bytes compressed by zlib; 0: unknown
  double no_speech = 0.0;          // probability of the token "no speech"
  std::vector<TranscriptWord> words{};  // if asked for
};

struct Transcript {
  std::string language;   // code ("en"); empty: the model has none
  double duration = 0.0;  // seconds
  std::vector<TranscriptSegment> segments;
};

enum class TranscriptFormat { text, srt, vtt, json, tsv };

// Return the format of this name; none for another name.
std::optional<TranscriptFormat> transcript_format_of(std::string_view name);
const char* extension_of(TranscriptFormat format);  // "srt"

// Formats a transcript as plain text, SubRip, WebVTT, tab-separated values in milliseconds, or one JSON
// object. To write a file, join begin(), segment() for each segment, and end(). If the segments have word
// times, SubRip and tab-separated files get one entry per word, WebVTT times inside the text, and JSON a list
// "words".
class TranscriptWriter {
 public:
  // `file`: name of the sound, for JSON.
  TranscriptWriter(TranscriptFormat format, std::string file);

  std::string begin() const;
  std::string segment(const TranscriptSegment& segment);
  std::string end(const Transcript& transcript) const;  // `transcript`: language and duration are used

 private:
  std::string cue(double start, double end, const std::string& text);
  std::string segment_json(const TranscriptSegment& segment);

  TranscriptFormat format_;
  std::string file_;
  std::int64_t count_ = 0;
  std::string json_;  // the segments so far, separated by commas
  std::string text_;  // their texts, separated by spaces; JSON only
};

}  // namespace regard::tasks
