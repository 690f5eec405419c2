// Whisper's log-mel features of a sound of any length, read window by window in bounded memory.
#pragma once

#include <cstdint>
#include <functional>

#include "base/thread_pool.h"
#include "data/frame_store.h"
#include "data/sound.h"
#include "data/sound_processor.h"
#include "regard/tensor.h"

namespace regard::tasks {

class LongFeatures {
 public:
  // Read the whole sound, because the scale depends on its largest energy. `progress` is called with the
  // seconds read so far, and may throw an exception to stop. Throws the errors of SoundStream. Throws usage
  // if the processor is not Whisper's, or if it normalises samples.
  LongFeatures(data::SoundStream& sound, const data::SoundProcessor& processor, ThreadPool& pool,
               const std::function<void(double)>& progress);

  std::int64_t frames() const { return frames_; }  // number of frames whose centre is within the sound
  double seconds() const { return seconds_; }
  // Return frames [first, first + count) as [count, bins]. Frames after the end of the sound are silence.
  Tensor window(std::int64_t first, std::int64_t count);

 private:
  void add(ThreadPool& pool, const data::LogMel& mel, std::vector<float>& waiting);

  data::FrameStore store_;
  std::int64_t bins_, frames_ = 0;
  double seconds_ = 0.0;
  float largest_;
};

}  // namespace regard::tasks
