// Transcription by models with a CTC head (wav2vec 2.0), in overlapping chunks as in transformers'
// automatic-speech-recognition pipeline with chunk_length_s. Memory does not depend on the length of the
// sound.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "data/sound.h"
#include "data/sound_processor.h"
#include "infer/loaded_model.h"
#include "ops/probe.h"
#include "tasks/ctc_search.h"
#include "tasks/transcript.h"

namespace regard::tasks {

// Maps the labels of a CTC model to texts; see ctc_labels.h.
class CtcVocabulary {
 public:
  // `labels` is the model's number of labels. Throws the errors of read_ctc_labels().
  CtcVocabulary(const std::filesystem::path& folder, const Json& config, std::int64_t labels,
                const std::string& language);

  std::int32_t blank() const { return blank_; }
  bool is_space(std::int32_t label) const { return label == space_; }
  // Return the text of a label; "" for special tokens.
  const std::string& text(std::int32_t label) const { return tokens_[static_cast<std::size_t>(label)]; }
  std::string text_of(std::span<const CtcLabel> labels) const;

 private:
  std::vector<std::string> tokens_;
  std::int32_t blank_ = 0, space_ = -1;
};

struct CtcRecognizerOptions {
  std::int64_t beam = 1;  // width of the beam search; 1 selects the best path
  // duration of a chunk without its context, in seconds; one forward pass computes a chunk and the context at
  // both ends
  double piece_seconds = 20.0;
  // duration of the context at each end of a chunk, in seconds; the labels of the context are dropped
  double overlap_seconds = 3.0;
  // A segment ends at a silence of pause_seconds, or at the first space after segment_seconds. In a text
  // without spaces, it ends at the first blank after 2 · segment_seconds, at the latest after 3 ·
  // segment_seconds.
  double pause_seconds = 0.6, segment_seconds = 15.0;
  // Compute word timestamps. Words are separated by spaces; a word lasts from the first to the last frame of
  // its labels.
  bool word_times = false;
  Probe* probe = nullptr;  // probe for every forward pass (see ops/probe.h); not owned; may be null
};

class CtcRecognizer {
 public:
  // The arguments must outlive this object. Throws usage if the model is not a CTC model or the options are
  // invalid for it.
  CtcRecognizer(const infer::LoadedModel& loaded, ThreadPool& pool, const data::SoundProcessor& processor,
                const CtcRecognizerOptions& options);

  // Call `found` for each segment, in order, and `progress` (may be empty) with the number of seconds read so
  // far. Return a Transcript in which only `duration` is set.
  Transcript transcribe(data::SoundStream& sound, const std::function<void(const TranscriptSegment&)>& found,
                        const std::function<void(double)>& progress);

 private:
  Tensor logits_of(std::span<const float> sound);
  void take(const Tensor& logits, std::int64_t first, std::int64_t end,
            const std::function<void(const TranscriptSegment&)>& found);
  double time_of(std::int64_t frame) const;
  std::vector<TranscriptWord> words_of(std::span<const CtcLabel> labels) const;
  void end_segment(std::size_t frames, const std::function<void(const TranscriptSegment&)>& found);

  const infer::LoadedModel& loaded_;
  ThreadPool& pool_;
  const data::SoundProcessor& processor_;
  CtcRecognizerOptions options_;
  CtcVocabulary vocabulary_;
  std::int64_t samples_per_frame_ = 1, samples_read_ = 0;
  std::vector<float> waiting_;     // log-probabilities of the frames of the incomplete segment
  std::int64_t waiting_from_ = 0;  // frame number of the first frame of waiting_, from the start of the sound
  // number of frames at the end of waiting_ whose most probable label is blank, special or a space
  std::int64_t blanks_ = 0;
  // true if the most probable label of any frame of waiting_ is not blank, special or a space
  bool spoken_ = false;
};

}  // namespace regard::tasks
