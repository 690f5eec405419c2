#include "tasks/whisper.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/counted.h"
#include "base/deflated_size.h"
#include "infer/collector.h"
#include "infer/scheduler.h"
#include "ops/tape.h"
#include "regard/error.h"
#include "tasks/probabilities.h"
#include "tasks/word_split.h"
#include "tensor/arena.h"

namespace regard::tasks {
namespace {

// text sampled at this temperature or above is not used as a prompt
constexpr double kSampledAt = 0.5;
constexpr std::int64_t kFramesPerTime = 2;  // number of frames per step of the timestamp tokens

std::string without_space_around(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace

double compression_ratio_of(const std::string& text) {
  const std::optional<std::size_t> size = deflated_size(text);
  return size ? static_cast<double>(text.size()) / static_cast<double>(*size) : 0.0;
}

void WhisperOptions::check() const {
  if (temperatures.empty()) throw usage_error("expected at least one temperature, found none");
  for (const double temperature : temperatures)
    if (!(temperature >= 0.0 && temperature <= 10.0))
      throw usage_error("a temperature is out of range")
          .found(std::to_string(temperature))
          .expected("0 to 10");
  for (const std::optional<double>& limit : {compression_ratio, log_probability, no_speech})
    if (limit && !std::isfinite(*limit))
      throw usage_error("a threshold is not finite")
          .found(std::to_string(*limit))
          .expected("a finite number");
}

Whisper::Whisper(const infer::LoadedModel& loaded, ThreadPool& pool, const WhisperOptions& options)
    : loaded_(loaded), pool_(pool), options_(options), tokens_(WhisperTokens::of(loaded)) {
  options_.check();
  // throws if the model does not support the language or the task
  tokens_.beginning(options_.language, options_.translates, options_.timestamps);
  if (options_.word_times) heads_ = AlignmentHeads::read(loaded.folder);
  if (const std::string prompt = without_space_around(options_.prompt); !prompt.empty()) {
    if (tokens_.previous < 0)
      throw usage_error("this model does not support prompts: it has no token <|startofprev|>")
          .remedy("Omit the prompt");
    initial_ = loaded_.target->encode_ids(" " + prompt, {.add_special = false, .match_special = false});
  }
}

Tensor Whisper::encode(const Tensor& features) {
  Arena arena;
  Tape tape(pool_, arena);
  tape.begin({});
  tape.probe = options_.probe;
  InputBuffer input;
  const ModelInput model_input{features};
  input.add(model_input, loaded_.model->input_spec().length_of(model_input), 0);
  return loaded_.model->encode(tape, input.batch())->value.clone();
}

// Return the logits [vocabulary] of the token that follows the first `count` of `ids`.
Tensor Whisper::logits_after(const Window& window, const std::vector<std::int32_t>& ids, std::size_t count) {
  Arena arena;
  Tape tape(pool_, arena);
  tape.begin({});
  tape.probe = options_.probe;
  RaggedBuffer source, target;
  source.add(window.encoded.rows(), 0);
  target.add(static_cast<std::int64_t>(count), 0);
  const Memory memory{tape.constant(window.encoded), source.view(), nullptr};
  Var hidden = loaded_.model->decode(tape, {std::span(ids).first(count), target.view()}, &memory, nullptr);
  const auto last = static_cast<std::int64_t>(count) - 1;
  Var logits = loaded_.model->logits(tape, tape.constant(hidden->value.slice_rows(last, last + 1)));
  require_finite({logits->value.f32(), static_cast<std::size_t>(logits->value.elements())});
  return logits->value.clone();
}

std::string Whisper::find_language(const Window& window) {
  const Tensor logits = logits_after(window, {tokens_.start}, 1);
  std::int32_t best = -1;
  for (const auto& [code, id] : tokens_.languages) {
    const float score = logits.f32()[id];
    if (best < 0 || score > logits.f32()[best] || (score == logits.f32()[best] && id < best)) best = id;
  }
  return tokens_.code_of(best);
}

// Return the probability of "no speech" after the start token, which is at index `start` of the prompt.
double Whisper::no_speech_of(const Window& window, const std::vector<std::int32_t>& prompt,
                             std::size_t start) {
  Tensor logits = logits_after(window, prompt, start + 1);
  const std::span<float> all(logits.f32(), static_cast<std::size_t>(logits.elements()));
  softmax(all, all);
  return static_cast<double>(all[static_cast<std::size_t>(tokens_.no_speech)]);
}

// Return the prompt of a window: the previous text and then `beginning`. If `conditioned` is false, the
// user's prompt replaces the previous text. Only the end of a long text is used, at most half of the
// decoder's positions.
std::vector<std::int32_t> Whisper::prompt_of(const std::vector<std::int32_t>& beginning,
                                             bool conditioned) const {
  const std::vector<std::int32_t>& before = conditioned ? history_ : initial_;
  std::vector<std::int32_t> prompt;
  if (!before.empty() && tokens_.previous >= 0) {
    const std::int64_t max_prompt = loaded_.model->max_positions() / 2 - 1;
    const auto used =
        static_cast<std::ptrdiff_t>(std::min(std::ssize(before), std::max<std::int64_t>(max_prompt, 0)));
    prompt.push_back(tokens_.previous);
    prompt.insert(prompt.end(), before.end() - used, before.end());
  }
  prompt.insert(prompt.end(), beginning.begin(), beginning.end());
  return prompt;
}

Whisper::Attempt Whisper::decode_at(const Window& window, const std::vector<std::int32_t>& prompt,
                                    std::size_t index) {
  const double temperature = options_.temperatures[index];
  infer::SearchOptions search = loaded_.options;
  search.n_best = 1, search.max_length = 0;
  search.max_new = loaded_.model->max_positions() - std::ssize(prompt);
  search.sample = temperature > 0.0;
  search.temperature = search.sample ? temperature : 1.0;
  search.beam = search.sample ? 1 : options_.beam;
  search.top_k = 0, search.top_p = search.typical_p = 1.0, search.min_p = search.epsilon = search.eta = 0.0;
  search.seed = options_.seed + static_cast<std::uint64_t>(window.first) * 64 + index;
  search.rules.scores_after_rules = true;
  search.probe = options_.probe;
  if (!options_.timestamps)
    for (std::int32_t time = tokens_.first_time(); time < loaded_.model->vocabulary(); ++time)
      search.rules.suppressed.push_back(time);
  if (options_.timestamps)
    search.rules.timestamps = infer::TimestampRules{tokens_.first_time(), tokens_.end, tokens_.latest_first};
  if (search.max_new < 1)
    throw usage_error("the prompt occupies all positions of the decoder")
        .found(counted(prompt.size(), "token"))
        .expected("fewer than " + std::to_string(loaded_.model->max_positions()) + " tokens");
  infer::Collector collector(1);
  infer::Scheduler scheduler(*loaded_.model, pool_, search, collector);
  infer::Request request = infer::request_of(*loaded_.model, ModelInput(window.features));
  request.prompt = prompt, request.encoded = window.encoded;
  scheduler.submit(std::move(request));
  while (scheduler.step()) {
  }
  const infer::Hypothesis& best = collector.results[0].at(0);
  Attempt attempt;
  attempt.tokens = best.tokens;
  attempt.about.temperature = temperature;
  attempt.about.log_probability = static_cast<double>(best.log_probability) /
                                  static_cast<double>(std::max<std::size_t>(1, best.tokens.size()));
  attempt.ended = !attempt.tokens.empty() && attempt.tokens.back() == tokens_.end;
  if (attempt.ended) attempt.tokens.pop_back();
  attempt.about.compression_ratio = compression_ratio_of(text_of(attempt.tokens));
  return attempt;
}

bool Whisper::needs_another(const Attempt& attempt) const {
  return (options_.compression_ratio && attempt.about.compression_ratio > *options_.compression_ratio) ||
         (options_.log_probability && attempt.about.log_probability < *options_.log_probability);
}

Whisper::Attempt Whisper::decode(const Window& window, const std::vector<std::int32_t>& prompt,
                                 std::size_t start) {
  const double silent = options_.no_speech ? no_speech_of(window, prompt, start) : 0.0;
  Attempt attempt;
  for (std::size_t index = 0; index < options_.temperatures.size(); ++index) {
    attempt = decode_at(window, prompt, index);
    attempt.about.no_speech = silent;
    const bool improbable =
        options_.log_probability && attempt.about.log_probability < *options_.log_probability;
    attempt.skips = options_.no_speech && improbable && silent > *options_.no_speech;
    if (attempt.skips || !needs_another(attempt)) break;
  }
  return attempt;
}

Transcript Whisper::transcribe(LongFeatures& features, double frame_seconds, const SegmentListener& found,
                               const std::function<void(double)>& progress) {
  const std::int64_t length = loaded_.model->input_spec().shape[0];
  frame_seconds_ = frame_seconds;
  history_ = initial_;
  Transcript about;
  about.duration = features.seconds(), about.language = options_.language;
  bool conditioned = options_.uses_previous;
  std::vector<std::int32_t> beginning;
  for (std::int64_t seek = 0; seek < features.frames();) {
    Window window;
    window.first = seek, window.frames = std::min(length, features.frames() - seek);
    window.features = features.window(seek, length);
    window.encoded = encode(window.features);
    if (beginning.empty()) {
      if (about.language.empty() && !tokens_.languages.empty()) about.language = find_language(window);
      beginning = tokens_.beginning(about.language, options_.translates, options_.timestamps);
    }
    const std::vector<std::int32_t> prompt = prompt_of(beginning, conditioned);
    Attempt attempt = decode(window, prompt, prompt.size() - beginning.size());
    conditioned = options_.uses_previous && attempt.about.temperature < kSampledAt;
    language_ = about.language;
    if (options_.word_times && !attempt.skips) find_times(window, prompt, attempt);
    seek += attempt.skips ? window.frames : add_segments(window, attempt, found);
    if (progress) progress(static_cast<double>(seek) / static_cast<double>(features.frames()));
  }
  return about;
}

// Divide the window's tokens into segments at pairs of timestamps. Return the start of the next window, in
// frames from the start of this window: the end of the last complete segment, or the end of this window.
std::int64_t Whisper::add_segments(const Window& window, const Attempt& attempt,
                                   const SegmentListener& found) {
  const std::span<const std::int32_t> all = attempt.tokens;
  const auto is_time = [&](std::size_t i) { return i < all.size() && all[i] >= tokens_.first_time(); };
  const auto index_of = [&](std::int32_t token) {
    return static_cast<std::int64_t>(token - tokens_.first_time());
  };
  const double offset = static_cast<double>(window.first) * frame_seconds_;
  const double step = frame_seconds_ * kFramesPerTime;
  const auto at = [&](std::int64_t index) { return offset + static_cast<double>(index) * step; };
  const bool single_end = all.size() >= 2 && !is_time(all.size() - 2) && is_time(all.size() - 1);
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    if (is_time(i) && is_time(i + 1)) cuts.push_back(i + 1);
  if (cuts.empty()) {
    std::int64_t last = window.frames / kFramesPerTime;
    for (std::size_t i = all.size(); i-- > 0;)
      if (is_time(i)) {
        if (all[i] != tokens_.first_time()) last = index_of(all[i]);
        break;
      }
    add_segment(attempt, all, {offset, at(last)}, found);
    return window.frames;
  }
  // Two adjacent timestamps end one segment and begin the next. The last segment includes both timestamps of
  // the last pair, unless the tokens end with a single timestamp.
  single_end ? cuts.push_back(all.size()) : static_cast<void>(++cuts.back());
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    const std::span<const std::int32_t> tokens = all.subspan(begin, cut - begin);
    const std::size_t last =
        tokens.size() - (cut == cuts.back() && !single_end && tokens.size() >= 2 ? 2 : 1);
    add_segment(attempt, tokens, {at(index_of(tokens[0])), at(index_of(tokens[last]))}, found);
    begin = cut;
  }
  if (single_end) return window.frames;
  const std::int64_t done = index_of(all[begin - 2]) * kFramesPerTime;
  return done > 0 ? std::min(done, window.frames) : window.frames;
}

void Whisper::add_segment(const Attempt& attempt, std::span<const std::int32_t> tokens,
                          std::pair<double, double> times, const SegmentListener& found) {
  // If the segment ends in two timestamps, the prompt of the next window keeps only the first.
  const bool pair = tokens.size() > 2 && tokens[tokens.size() - 2] >= tokens_.first_time();
  remember(pair ? tokens.first(tokens.size() - 1) : tokens);
  TranscriptSegment segment = attempt.about;
  segment.start = times.first, segment.end = times.second;
  segment.tokens.assign(tokens.begin(), tokens.end());
  segment.text = without_space_around(text_of(tokens));
  if (segment.text.empty()) return;
  segment.words = words_of(attempt, tokens);
  found(segment);
}

// Compute the time of each token in attempt.tokens. If generation stopped without the end token, the last
// token gets the time of the preceding token, as in the reference implementation.
void Whisper::find_times(const Window& window, const std::vector<std::int32_t>& prompt, Attempt& attempt) {
  std::vector<std::int32_t> ids = prompt;
  const std::ptrdiff_t last = attempt.ended || attempt.tokens.empty() ? 0 : 1;
  ids.insert(ids.end(), attempt.tokens.begin(), attempt.tokens.end() - last);
  const std::int64_t positions = std::max<std::int64_t>(1, window.frames / kFramesPerTime);
  const std::vector<std::int64_t> found = align_tokens(
      *loaded_.model, pool_, heads_, {window.encoded, ids, std::ssize(prompt), positions, options_.probe});
  attempt.offset = static_cast<double>(window.first) * frame_seconds_;
  for (const std::int64_t position : found)
    attempt.seconds.push_back(attempt.offset +
                              static_cast<double>(position * kFramesPerTime) * frame_seconds_);
  if (attempt.seconds.size() < attempt.tokens.size())
    attempt.seconds.push_back(attempt.seconds.empty() ? attempt.offset : attempt.seconds.back());
}

// Return the words of `tokens`, a subspan of the attempt's tokens. A token lasts from the previous token's
// time to its own time.
std::vector<TranscriptWord> Whisper::words_of(const Attempt& attempt,
                                              std::span<const std::int32_t> tokens) const {
  if (attempt.seconds.empty()) return {};
  const auto first = static_cast<std::size_t>(tokens.data() - attempt.tokens.data());
  std::vector<std::int32_t> ids;
  std::vector<std::size_t> places;  // indices of `ids` in the attempt's tokens
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < tokens_.end) ids.push_back(tokens[i]), places.push_back(first + i);
  std::vector<TranscriptWord> words;
  for (const TokenWord& word : split_words(*loaded_.target, ids, language_)) {
    const std::size_t before = places[word.first];
    words.push_back({before == 0 ? attempt.offset : attempt.seconds[before - 1],
                     attempt.seconds[places[word.last]], word.text});
  }
  return words;
}

void Whisper::remember(std::span<const std::int32_t> tokens) {
  history_.insert(history_.end(), tokens.begin(), tokens.end());
  const std::int64_t excess = std::ssize(history_) - loaded_.model->max_positions();
  if (excess > 0) history_.erase(history_.begin(), history_.begin() + excess);
}

std::string Whisper::text_of(std::span<const std::int32_t> tokens) const {
  std::vector<std::int32_t> words;
  for (const std::int32_t token : tokens)
    if (token < tokens_.first_time()) words.push_back(token);
  return loaded_.target->decode(words);
}

}  // namespace regard::tasks
