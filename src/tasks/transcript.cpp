#include "tasks/transcript.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/json.h"
#include "base/json_text.h"
#include "base/plain_text.h"

namespace regard::tasks {
namespace {

constexpr std::pair<const char*, TranscriptFormat> kFormats[] = {{"text", TranscriptFormat::text},
                                                                 {"srt", TranscriptFormat::srt},
                                                                 {"vtt", TranscriptFormat::vtt},
                                                                 {"json", TranscriptFormat::json},
                                                                 {"tsv", TranscriptFormat::tsv}};

std::int64_t milliseconds(double seconds) {
  return std::llround(std::max(0.0, seconds) * 1000.0);
}

// Return a time such as "01:02:03,456". With `short_form`, omit the hours if they are 0.
std::string time_text(double seconds, char point, bool short_form) {
  const std::int64_t all = milliseconds(seconds), hours = all / 3600000, rest = all % 3600000;
  const std::string tail =
      fmt::format("{:02}:{:02}{}{:03}", rest / 60000, rest / 1000 % 60, point, rest % 1000);
  return short_form && hours == 0 ? tail : fmt::format("{:02}:{}", hours, tail);
}

// Return `text` as one line. In subtitles, replace "-->", which separates times in SRT and WebVTT.
std::string one_line(std::string text, bool subtitles) {
  for (char& c : text)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  // Search again from one character earlier, because the replacement may form a new "-->" with a preceding
  // dash.
  for (std::size_t at = 0; subtitles && (at = text.find("-->", at)) != text.npos; at -= at > 0 ? 1 : 0)
    text.replace(at, 3, "->");
  return text;
}

double rounded(double value) {
  return std::round(value * 1e6) / 1e6;
}

std::string without_spaces(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Return the words as the text of a WebVTT cue, with a time before each word. Times within a cue must
// increase and be inside the cue's range; other times are left out.
std::string timed_text(const TranscriptSegment& segment) {
  std::string all;
  std::int64_t last = milliseconds(segment.start);
  for (const TranscriptWord& word : segment.words) {
    const std::int64_t time = milliseconds(word.start);
    if (time > last && time < milliseconds(segment.end)) {
      all += "<" + time_text(word.start, '.', true) + ">";
      last = time;
    }
    all += html_escaped(one_line(word.text, true));
  }
  return without_spaces(all);
}

}  // namespace

std::optional<TranscriptFormat> transcript_format_of(std::string_view name) {
  for (const auto& [known, format] : kFormats)
    if (name == known) return format;
  return std::nullopt;
}

const char* extension_of(TranscriptFormat format) {
  for (const auto& [name, known] : kFormats)
    if (known == format) return format == TranscriptFormat::text ? "txt" : name;
  return "";
}

TranscriptWriter::TranscriptWriter(TranscriptFormat format, std::string file)
    : format_(format), file_(std::move(file)) {}

std::string TranscriptWriter::begin() const {
  if (format_ == TranscriptFormat::vtt) return "WEBVTT\n\n";
  return format_ == TranscriptFormat::tsv ? "start\tend\ttext\n" : "";
}

// Return one subtitle, or one row of a tab-separated file.
std::string TranscriptWriter::cue(double start, double end, const std::string& text) {
  if (format_ == TranscriptFormat::tsv)
    return fmt::format("{}\t{}\t{}\n", milliseconds(start), milliseconds(end), text);
  const bool srt = format_ == TranscriptFormat::srt;
  return (srt ? fmt::format("{}\n", ++count_) : std::string()) + time_text(start, srt ? ',' : '.', !srt) +
         " --> " + time_text(end, srt ? ',' : '.', !srt) + "\n" + text + "\n\n";
}

std::string TranscriptWriter::segment_json(const TranscriptSegment& segment) {
  Json one{{"id", count_++},
           {"start", rounded(segment.start)},
           {"end", rounded(segment.end)},
           {"text", segment.text},
           {"tokens", segment.tokens},
           {"temperature", segment.temperature},
           {"avg_logprob", rounded(segment.log_probability)},
           {"compression_ratio", rounded(segment.compression_ratio)},
           {"no_speech_prob", rounded(segment.no_speech)}};
  for (const TranscriptWord& word : segment.words)
    one["words"].push_back({{"word", word.text}, {"start", rounded(word.start)}, {"end", rounded(word.end)}});
  return json_text(one);
}

std::string TranscriptWriter::segment(const TranscriptSegment& segment) {
  const bool vtt = format_ == TranscriptFormat::vtt, srt = format_ == TranscriptFormat::srt;
  if (format_ == TranscriptFormat::json) {
    json_ += (json_.empty() ? "" : ",") + segment_json(segment);
    text_ += (text_.empty() ? "" : " ") + segment.text;
    return "";
  }
  const std::string text = one_line(segment.text, vtt || srt);
  if (format_ == TranscriptFormat::text) return text + "\n";
  if (segment.words.empty()) return cue(segment.start, segment.end, vtt ? html_escaped(text) : text);
  if (vtt) return cue(segment.start, segment.end, timed_text(segment));
  std::string all;
  for (const TranscriptWord& word : segment.words)
    all += cue(word.start, word.end, without_spaces(one_line(word.text, srt)));
  return all;
}

std::string TranscriptWriter::end(const Transcript& transcript) const {
  if (format_ != TranscriptFormat::json) return "";
  Json head{{"file", file_}, {"duration", rounded(transcript.duration)}, {"text", text_}};
  if (!transcript.language.empty()) head["language"] = transcript.language;
  std::string all = json_text(head);
  all.pop_back();
  return all + ",\"segments\":[" + json_ + "]}\n";
}

}  // namespace regard::tasks
