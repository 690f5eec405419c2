#include "tasks/ctc_recognizer.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/plain_text.h"
#include "ops/tape.h"
#include "regard/error.h"
#include "tasks/ctc_labels.h"
#include "tasks/probabilities.h"
#include "tensor/arena.h"

namespace regard::tasks {

CtcVocabulary::CtcVocabulary(const std::filesystem::path& folder, const Json& config, std::int64_t labels,
                             const std::string& language) {
  blank_ = require_in<std::int32_t>(config, "pad_token_id", "config.json", 0,
                                    static_cast<std::int32_t>(labels) - 1);
  const CtcLabels all = read_ctc_labels(folder, labels, language);
  space_ = all.space;
  for (const std::string& token : all.tokens)
    tokens_.push_back(all.specials.contains(token) ? "" : all.lower ? lower_case(token) : token);
  if (space_ >= 0 && !tokens_[static_cast<std::size_t>(space_)].empty())
    tokens_[static_cast<std::size_t>(space_)] = " ";
}

std::string CtcVocabulary::text_of(std::span<const CtcLabel> labels) const {
  std::string all;
  for (const CtcLabel& label : labels) all += text(label.label);
  const std::size_t begin = all.find_first_not_of(' ');
  return begin == all.npos ? "" : all.substr(begin, all.find_last_not_of(' ') - begin + 1);
}

CtcRecognizer::CtcRecognizer(const infer::LoadedModel& loaded, ThreadPool& pool,
                             const data::SoundProcessor& processor, const CtcRecognizerOptions& options)
    : loaded_(loaded),
      pool_(pool),
      processor_(processor),
      options_(options),
      vocabulary_(loaded.folder.path, loaded.model->config(), loaded.model->labels(), loaded.language) {
  if (loaded.model->output() != Output::ctc || processor.kind != data::SoundProcessor::Kind::samples)
    throw usage_error("this model is not a CTC model with samples as input")
        .expected("wav2vec 2.0 with a CTC head");
  if (options.beam < 1 || options.beam > 1024)
    throw usage_error("the beam width is out of range")
        .found(std::to_string(options.beam))
        .expected("1 to 1024");
  const InputSpec& spec = loaded.model->input_spec();
  for (const auto* windows : {&spec.windows, &spec.output_windows})
    for (const FrameWindow& window : *windows) samples_per_frame_ *= window.stride;
}

Tensor CtcRecognizer::logits_of(std::span<const float> sound) {
  Arena arena;
  Tape tape(pool_, arena);
  tape.begin({});
  tape.probe = options_.probe;
  InputBuffer buffer;
  const ModelInput input{processor_.apply(pool_, sound)};
  buffer.add(input, loaded_.model->input_spec().length_of(input), 0);
  const InputBatch batch = buffer.batch();
  Var hidden = loaded_.model->encode(tape, batch);
  Tensor logits = loaded_.model->head(tape, hidden, batch)->value.clone();
  require_finite({logits.f32(), static_cast<std::size_t>(logits.elements())});
  to_log_probabilities(logits);
  return logits;
}

// Frames are numbered from the start of the sound. A chunk starts and ends at a frame boundary.
Transcript CtcRecognizer::transcribe(data::SoundStream& sound,
                                     const std::function<void(const TranscriptSegment&)>& found,
                                     const std::function<void(double)>& progress) {
  const double rate = static_cast<double>(processor_.rate);
  const auto frames_in = [&](double seconds) {
    return std::max<std::int64_t>(1, std::llround(seconds * rate / static_cast<double>(samples_per_frame_)));
  };
  const std::int64_t overlap = frames_in(options_.overlap_seconds);
  const std::int64_t step = frames_in(options_.piece_seconds), whole = step + 2 * overlap;
  std::vector<float> samples, piece(static_cast<std::size_t>(whole * samples_per_frame_));
  const std::int64_t fewest = loaded_.model->input_spec().fewest_frames();
  waiting_.clear(), waiting_from_ = 0, blanks_ = 0, spoken_ = false;
  samples_read_ = 0;
  std::int64_t first = 0;  // index of the first frame of `samples`
  for (bool ended = false; !ended;) {
    const std::size_t wanted = piece.size() - samples.size();
    const std::size_t got = sound.read(std::span(piece).first(wanted));
    samples.insert(samples.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    samples_read_ += static_cast<std::int64_t>(got);
    ended = got < wanted;
    if (std::ssize(samples) >= fewest) {
      const Tensor logits = logits_of(samples);
      const std::int64_t from = first == 0 ? 0 : overlap, to = ended ? logits.rows() : overlap + step;
      take(logits, std::min(from, logits.rows()), std::min(to, logits.rows()), found);
    }
    // The next chunk starts one overlap before the first frame that has not been used yet.
    if (!ended)
      samples.erase(samples.begin(),
                    samples.begin() + static_cast<std::ptrdiff_t>(step * samples_per_frame_));
    first += step;
    if (progress) progress(static_cast<double>(samples_read_) / rate);
  }
  end_segment(waiting_.size() / static_cast<std::size_t>(loaded_.model->labels()), found);
  Transcript about;
  about.duration = static_cast<double>(samples_read_) / rate;
  return about;
}

// Append rows [first, end) of `logits`, which contains log-probabilities, to waiting_. Call `found` for each
// segment that they complete.
void CtcRecognizer::take(const Tensor& logits, std::int64_t first, std::int64_t end,
                         const std::function<void(const TranscriptSegment&)>& found) {
  const std::int64_t labels = logits.columns();
  const double frame_seconds = static_cast<double>(samples_per_frame_) / static_cast<double>(processor_.rate);
  for (std::int64_t t = first; t < end; ++t) {
    const float* row = logits.row(t);
    const auto best = static_cast<std::int32_t>(std::max_element(row, row + labels) - row);
    const bool silent = vocabulary_.text(best).empty() || best == vocabulary_.blank();
    blanks_ = silent || vocabulary_.is_space(best) ? blanks_ + 1 : 0;
    spoken_ = spoken_ || blanks_ == 0;
    waiting_.insert(waiting_.end(), row, row + labels);
    const auto frames = static_cast<std::int64_t>(waiting_.size()) / labels;
    const bool pauses = static_cast<double>(blanks_) * frame_seconds >= options_.pause_seconds;
    // length of the segment, in multiples of segment_seconds
    const double length = static_cast<double>(frames) * frame_seconds / options_.segment_seconds;
    const bool ends = length >= 3.0 || (length >= 2.0 && silent) ||
                      (length >= 1.0 && (vocabulary_.is_space(best) || !spoken_));
    if ((spoken_ && pauses) || ends) end_segment(static_cast<std::size_t>(frames), found);
  }
}

// Return the start of a frame of the incomplete segment, in seconds. The last frame can end after the sound,
// because the convolutions after the encoder pad it.
double CtcRecognizer::time_of(std::int64_t frame) const {
  const std::int64_t sample = std::min((waiting_from_ + frame) * samples_per_frame_, samples_read_);
  return static_cast<double>(sample) / static_cast<double>(processor_.rate);
}

// Return the words of `labels`, which belong to the incomplete segment.
std::vector<TranscriptWord> CtcRecognizer::words_of(std::span<const CtcLabel> labels) const {
  std::vector<TranscriptWord> words;
  bool within = false;
  for (const CtcLabel& label : labels) {
    const std::string& text = vocabulary_.text(label.label);
    if (vocabulary_.is_space(label.label)) within = false;
    if (vocabulary_.is_space(label.label) || text.empty()) continue;
    if (!within) words.push_back({time_of(label.first), 0.0, ""});
    within = true;
    words.back().text += text;
    words.back().end = time_of(label.last + 1);
  }
  return words;
}

void CtcRecognizer::end_segment(std::size_t frames,
                                const std::function<void(const TranscriptSegment&)>& found) {
  const std::int64_t labels = loaded_.model->labels(), count = static_cast<std::int64_t>(frames);
  const Tensor log_p = Tensor::view(waiting_.data(), {count, labels});
  if (spoken_ && count > 0) {
    const CtcHypothesis best = options_.beam > 1
                                   ? ctc_beam_search(log_p, vocabulary_.blank(), options_.beam)
                                   : CtcHypothesis{ctc_best_path(log_p, vocabulary_.blank()), 0.0};
    TranscriptSegment segment;
    segment.text = vocabulary_.text_of(best.labels);
    double sum = 0.0;
    for (std::int64_t t = 0; t < count; ++t)
      sum += static_cast<double>(*std::max_element(log_p.row(t), log_p.row(t) + labels));
    segment.log_probability = (options_.beam > 1 ? best.log_probability : sum) / static_cast<double>(count);
    for (const CtcLabel& label : best.labels) segment.tokens.push_back(label.label);
    if (!segment.text.empty()) {
      const auto spoken = [&](const CtcLabel& label) { return !vocabulary_.is_space(label.label); };
      const auto begin = std::find_if(best.labels.begin(), best.labels.end(), spoken);
      const auto end = std::find_if(best.labels.rbegin(), best.labels.rend(), spoken);
      segment.start = time_of(begin->first);
      segment.end = time_of(end->last + 1);
      if (options_.word_times) segment.words = words_of(best.labels);
      found(segment);
    }
  }
  waiting_from_ += count;
  waiting_.clear(), blanks_ = 0, spoken_ = false;
}

}  // namespace regard::tasks
