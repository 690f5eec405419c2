// Read a sound file of any format (detected by its first bytes) in pieces; resample it, and compute features
// of its first second.
#include "data/sound.h"

#include <cmath>
#include <vector>

#include "base/thread_pool.h"
#include "data/log_mel.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  using namespace regard::models;  // includes the names of nn, ops, tensor and base
  constexpr std::int64_t kRate = 16000;
  constexpr std::size_t kMostSamples = std::size_t{1} << 20;  // a few bytes of FLAC or OGG can encode hours
  static ThreadPool pool(1);
  static const data::LogMel mel = data::LogMel::whisper(80, 400, 160, kRate);
  const std::filesystem::path path = fuzz::folder() / "sound";
  fuzz::put(path, fuzz::text_of(data, size));
  fuzz::must_return_or_blame_the_file([&] {
    data::SoundStream stream(path, kRate);
    std::vector<float> sound, piece(4000);
    for (std::size_t got = piece.size(); got == piece.size() && sound.size() < kMostSamples;) {
      got = stream.read(piece);
      for (std::size_t i = 0; i < got; ++i)
        if (!std::isfinite(piece[i])) std::abort();
      sound.insert(sound.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    }
    sound.resize(std::min(sound.size(), static_cast<std::size_t>(kRate)));
    const std::int64_t frames = mel.frames_in(static_cast<std::int64_t>(sound.size()));
    std::vector<float> features(static_cast<std::size_t>(frames * mel.bins()));
    if (frames > 0) mel.compute(pool, sound, frames, features.data());
  });
  return 0;
}
