// Transcription by Whisper (Radford et al. 2022, section 4.5): windows of 30 seconds, each started where the
// last complete segment ended; previous text as prompt; decoding again at higher temperatures if the text is
// too repetitive or too improbable; silence skipped. Tokens and times are those of transformers'
// WhisperForConditionalGeneration.generate(), with these exceptions, which are those of OpenAI's program: a
// window continues with silence after the sound's end, and the compression ratio is that of the text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "tasks/attention_alignment.h"
#include "tasks/long_features.h"
#include "tasks/transcript.h"
#include "tasks/whisper_tokens.h"

namespace regard::tasks {

struct WhisperOptions {
  std::string language;       // code ("en"); empty: found from the first window
  bool translates = false;    // to English
  bool timestamps = true;     // false: one segment per window
  std::string prompt;         // text before the first window: names, spelling
  bool uses_previous = true;  // the text before a window is its prompt, unless it was sampled at 0.5 or more
  std::vector<double> temperatures{0.0, 0.2, 0.4, 0.6, 0.8, 1.0};  // tried in order; 0: no sampling
  // Decode again at the next temperature if the text's compression ratio is above this, or the mean
  // log-probability below that. Empty: never.
  std::optional<double> compression_ratio = 2.4, log_probability = -1.0;
  // Skip a window with a higher probability of "no speech" whose mean log-probability is too low.
  std::optional<double> no_speech = 0.6;
  std::int64_t beam = 1;  // at temperature 0
  std::uint64_t seed = 1;
  bool word_times = false;  // find the times of words by cross-attention

  void check() const;  // throws usage
};

using SegmentListener = std::function<void(const TranscriptSegment&)>;

class Whisper {
 public:
  // The arguments must outlive this object. Throws usage if the model or the options do not fit.
  Whisper(const formats::ModelFolder& folder, const infer::LoadedModel& loaded, ThreadPool& pool,
          const WhisperOptions& options);

  // Call `found` for each segment with a text, in order, and `progress` with the fraction done. Return
  // language and duration, without segments.
  Transcript transcribe(LongFeatures& features, double frame_seconds, const SegmentListener& found,
                        const std::function<void(double)>& progress);

 private:
  struct Window {
    Tensor features, encoded;
    std::int64_t first = 0, frames = 0;  // frames: of the sound, at most the window
  };
  struct Attempt {
    std::vector<std::int32_t> tokens;  // without the end token
    TranscriptSegment about;           // temperature and measures
    bool skips = false;
    bool ended = false;           // the end token was chosen
    double offset = 0.0;          // seconds: the window's start in the sound
    std::vector<double> seconds;  // of each token, in the sound; empty: not asked for
  };
  Tensor encode(const Tensor& features);
  Tensor logits_after(const Window& window, const std::vector<std::int32_t>& ids, std::size_t count);
  std::string find_language(const Window& window);
  double no_speech_of(const Window& window, const std::vector<std::int32_t>& prompt, std::size_t start);
  std::vector<std::int32_t> prompt_of(const std::vector<std::int32_t>& beginning, bool conditioned) const;
  Attempt decode(const Window& window, const std::vector<std::int32_t>& prompt, std::size_t start);
  Attempt decode_at(const Window& window, const std::vector<std::int32_t>& prompt, std::size_t index);
  bool needs_another(const Attempt& attempt) const;
  void find_times(const Window& window, const std::vector<std::int32_t>& prompt, Attempt& attempt);
  std::vector<TranscriptWord> words_of(const Attempt& attempt, std::span<const std::int32_t> tokens) const;
  std::int64_t add_segments(const Window& window, const Attempt& attempt, const SegmentListener& found);
  void add_segment(const Attempt& attempt, std::span<const std::int32_t> tokens,
                   std::pair<double, double> times, const SegmentListener& found);
  void remember(std::span<const std::int32_t> tokens);
  std::string text_of(std::span<const std::int32_t> tokens) const;

  const infer::LoadedModel& loaded_;
  ThreadPool& pool_;
  WhisperOptions options_;
  WhisperTokens tokens_;
  AlignmentHeads heads_;  // if word_times
  std::string language_;  // of the sound
  double frame_seconds_ = 0.01;
  std::vector<std::int32_t> initial_, history_;  // tokens of the prompt; of all text so far, cut to what fits
};

// Bytes of `text` over its bytes compressed by zlib; 0 if this build lacks zlib.
double compression_ratio_of(const std::string& text);

}  // namespace regard::tasks
