#include "data/sound.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/counted.h"
#include "base/input_stream.h"
#include "data/sound_parts.h"
#include "regard/error.h"

namespace regard::data {
namespace {

constexpr std::size_t kMagicBytes = 24;  // enough for every magic number
constexpr std::size_t kPieceFrames = 4096;

std::string first_bytes(InputStream& stream) {
  std::string first;
  while (first.size() < kMagicBytes && stream.read(first)) {
  }
  return first;
}

std::unique_ptr<SoundSource> open_source(const std::filesystem::path& path) {
  auto stream = std::make_unique<InputStream>(path);
  std::string first = first_bytes(*stream);
  if (first.empty()) throw file_error(stream->name(), "the file is empty").expected("a sound");
  if (is_wav(first) && !wav_needs_library(*stream, first))
    return open_wav(std::move(stream), std::move(first));
  if (path != "-" && !stream->compressed() && std::filesystem::is_regular_file(path))
    return open_with_library(path);
  return open_with_library(*stream, first);
}

}  // namespace

void check_format(const SoundFormat& format, const std::string& file) {
  if (format.channels < 1 || format.channels > kMostChannels)
    throw file_error(file, "the sound has an unsupported number of channels")
        .found(counted(format.channels, "channel"))
        .expected("1 to " + std::to_string(kMostChannels) + " channels");
  if (format.rate < kLowestRate || format.rate > kHighestRate)
    throw file_error(file, "the sound has an unsupported sampling rate")
        .found(std::to_string(format.rate) + " Hz")
        .expected(std::to_string(kLowestRate) + " to " + std::to_string(kHighestRate) + " Hz");
}

struct SoundStream::State {
  State(const std::filesystem::path& path, std::int64_t rate)
      : file(path.string()), source(open_source(path)) {
    if (const std::int64_t own = source->format().rate; own != rate)
      resampler = Resampler::make(own, rate, path.string());
    interleaved.resize(kPieceFrames * static_cast<std::size_t>(source->format().channels));
  }

  // Read the next block of samples into `ready` and set `begin` to 0. Returns false at the end of the sound.
  bool fill() {
    ready.clear(), begin = 0;
    while (ready.empty() && !ended) {
      const std::size_t frames = source->read(interleaved);
      const auto channels = static_cast<std::size_t>(source->format().channels);
      mono.resize(frames);
      for (std::size_t i = 0; i < frames; ++i) {
        double sum = 0.0;
        for (std::size_t c = 0; c < channels; ++c) sum += static_cast<double>(interleaved[i * channels + c]);
        mono[i] = static_cast<float>(sum / static_cast<double>(channels));
      }
      ended = frames < kPieceFrames;
      if (!resampler) {
        ready = mono;
        continue;
      }
      if (!mono.empty()) resampler->convert(mono, ready);
      if (ended) resampler->convert({}, ready);
      // The resampler's filters may overflow for samples near the largest float.
      if (!std::all_of(ready.begin(), ready.end(), [](float x) { return std::isfinite(x); }))
        throw file_error(file, "a sample is too large to be resampled")
            .expected("samples from -1 to 1")
            .remedy("Scale the samples to the range -1 to 1");
    }
    return !ready.empty();
  }

  std::string file;
  std::unique_ptr<SoundSource> source;
  std::unique_ptr<Resampler> resampler;  // null if the file already has the requested rate
  std::vector<float> interleaved, mono, ready;
  std::size_t begin = 0;  // offset of the next sample in `ready`
  bool ended = false;
};

SoundStream::SoundStream(const std::filesystem::path& path, std::int64_t rate)
    : state_(std::make_unique<State>(path, rate)) {}
SoundStream::~SoundStream() = default;

const SoundFormat& SoundStream::format() const {
  return state_->source->format();
}

std::size_t SoundStream::read(std::span<float> to) {
  State& state = *state_;
  std::size_t done = 0;
  while (done < to.size()) {
    if (state.begin == state.ready.size() && !state.fill()) break;
    const std::size_t count = std::min(to.size() - done, state.ready.size() - state.begin);
    std::copy_n(state.ready.begin() + static_cast<std::ptrdiff_t>(state.begin), count,
                to.begin() + static_cast<std::ptrdiff_t>(done));
    state.begin += count, done += count;
  }
  return done;
}

std::vector<float> read_sound(const std::filesystem::path& path, std::int64_t rate, double most_seconds,
                              TooLong too_long) {
  SoundStream stream(path, rate);
  const auto most = static_cast<std::size_t>(most_seconds * static_cast<double>(rate));
  std::vector<float> all, piece(std::size_t{1} << 16);
  for (std::size_t got = piece.size(); got == piece.size();) {
    got = stream.read(piece);
    all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    if (all.size() <= most) continue;
    if (too_long == TooLong::cut) break;
    throw input_error("the sound is too long for this model")
        .at({path.string(), -1, -1})
        .expected("at most " + std::to_string(static_cast<std::int64_t>(most_seconds)) + " seconds")
        .remedy("Split the file");
  }
  return all;
}

bool looks_like_sound(const std::filesystem::path& path) {
  if (!can_be_read_again(path)) return false;
  InputStream stream(path);
  const std::string first = first_bytes(stream);
  if (is_wav(first)) return true;
  for (const char* magic : {"fLaC", "OggS", "ID3", "FORM", "RF64", "caff", ".snd"})
    if (first.starts_with(magic)) return true;
  // An MPEG audio header starts with eleven set bits, followed by a valid version and layer.
  return first.size() >= 2 && static_cast<unsigned char>(first[0]) == 0xFF &&
         (static_cast<unsigned char>(first[1]) & 0xE6) > 0xE0;
}

}  // namespace regard::data
