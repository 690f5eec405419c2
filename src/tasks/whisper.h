// Transcription by Whisper (Radford et al. 2022, section 4.5), in windows of 30 seconds. Same tokens and
// times as WhisperForConditionalGeneration.generate() in transformers, with two exceptions as in OpenAI's
// program: the last window is padded with silence, and the compression ratio is computed from the text
// instead of the token ids.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "ops/probe.h"
#include "tasks/attention_alignment.h"
#include "tasks/long_features.h"
#include "tasks/transcript.h"
#include "tasks/whisper_tokens.h"

namespace regard::tasks {

struct WhisperOptions {
  std::string language;     // code, such as "en"; if empty, detected from the first window
  bool translates = false;  // translate to English
  bool timestamps = true;   // generate timestamps; if false, there is one segment per window
  std::string prompt;       // text that is treated as preceding the first window
  // use the text before a window as the window's prompt, unless it was sampled at temperature 0.5 or more
  bool uses_previous = true;
  // temperatures of sampling, tried in this order; 0 means no sampling
  std::vector<double> temperatures{0.0, 0.2, 0.4, 0.6, 0.8, 1.0};
  // Decode again at the next temperature if the text's compression ratio is above compression_ratio, or its
  // mean log-probability is below log_probability. An empty value disables the rule.
  std::optional<double> compression_ratio = 2.4, log_probability = -1.0;
  // Skip a window if its probability of "no speech" is above this value and its mean log-probability is below
  // log_probability.
  std::optional<double> no_speech = 0.6;
  std::int64_t beam = 1;  // width of the beam search at temperature 0
  std::uint64_t seed = 1;
  bool word_times = false;  // compute word timestamps from cross-attention
  Probe* probe = nullptr;   // probe for every forward pass (see ops/probe.h); not owned; may be null

  void check() const;  // throws usage if an option is invalid
};

using SegmentListener = std::function<void(const TranscriptSegment&)>;

class Whisper {
 public:
  // The arguments must outlive this object. Throws usage if the model is not Whisper or the options are
  // invalid for it.
  Whisper(const infer::LoadedModel& loaded, ThreadPool& pool, const WhisperOptions& options);

  // Call `found` for each segment with text, in order, and `progress` with the completed fraction of the
  // sound. Return language and duration, without segments.
  Transcript transcribe(LongFeatures& features, double frame_seconds, const SegmentListener& found,
                        const std::function<void(double)>& progress);

 private:
  struct Window {
    Tensor features, encoded;
    // index of the first frame in the sound; number of frames without padding
    std::int64_t first = 0, frames = 0;
  };
  struct Attempt {
    std::vector<std::int32_t> tokens;  // tokens without the end token
    // temperature, log-probability, compression ratio and probability of "no speech"
    TranscriptSegment about;
    bool skips = false;
    bool ended = false;           // true if the end token was generated
    double offset = 0.0;          // start of the window in the sound, in seconds
    std::vector<double> seconds;  // time of each token in the sound; empty if not requested
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
  AlignmentHeads heads_;  // cross-attention heads for the word timestamps; used only if word_times is set
  std::string language_;  // language of the sound
  double frame_seconds_ = 0.01;
  // initial_: tokens of the option `prompt`. history_: the last tokens of the text so far, at most as many
  // as the decoder has positions.
  std::vector<std::int32_t> initial_, history_;
};

// Return the size of `text` in bytes / its size after compression by zlib; 0 if this build lacks zlib.
double compression_ratio_of(const std::string& text);

}  // namespace regard::tasks
