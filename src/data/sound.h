// Reads sound files as mono samples at a chosen rate. Files are read in blocks, so memory use does not depend
// on their length.
//
// WAV and RF64 require no library and can be read from a pipe: PCM of 8, 16, 24 or 32 bits, float of 32 or 64
// bits, A-law and μ-law, in plain or extensible form. WAV of ADPCM or GSM, FLAC, OGG, MP3 and other formats
// require libsndfile; a pipe or a file compressed with gzip or zstd is copied to a temporary file first.
// Resampling requires libsoxr. Channels are averaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace regard::data {

// Maximum size, in bytes, of the temporary file to which a pipe or a compressed file is copied.
constexpr std::uint64_t kMostPipedBytes = std::uint64_t{4} << 30;

struct SoundFormat {
  std::int64_t rate = 0;      // samples per second in the file
  std::int64_t channels = 0;  // number of channels, 1 to kMostChannels
  std::string name;           // name of the format, such as "WAV, 16-bit PCM"
};
constexpr std::int64_t kMostChannels = 64;
// limits of the sampling rate, in samples per second
constexpr std::int64_t kLowestRate = 1000, kHighestRate = 768000;

// Decoder of one format, at the sampling rate of the file.
class SoundSource {
 public:
  virtual ~SoundSource() = default;
  virtual const SoundFormat& format() const = 0;
  // Read up to to.size() / channels frames of interleaved samples, −1 to 1 (float files may exceed this).
  // Return the number of frames, which is less than requested only at the end. Throws bad_file for a
  // truncated file or a sample that is not finite.
  virtual std::size_t read(std::span<float> to) = 0;
};

class SoundStream {
 public:
  // "-" is standard input. Throws io if the file cannot be opened; bad_file if it is not a sound, is damaged,
  // or needs a library that this build lacks.
  SoundStream(const std::filesystem::path& path, std::int64_t rate);
  ~SoundStream();
  SoundStream(const SoundStream&) = delete;
  SoundStream& operator=(const SoundStream&) = delete;

  const SoundFormat& format() const;  // return rate, channels and format name of the file
  // Read mono samples at the requested rate. Return their number, which is less than to.size() only at the
  // end.
  std::size_t read(std::span<float> to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

enum class TooLong { refuse, cut };
// Return the whole sound. If it is longer than `most_seconds`, TooLong::refuse throws invalid_input, and
// TooLong::cut returns its beginning, with a length of at least most_seconds. Throws as SoundStream does.
std::vector<float> read_sound(const std::filesystem::path& path, std::int64_t rate, double most_seconds,
                              TooLong too_long = TooLong::refuse);

// Return true if `path` is a regular file that starts with the magic number of a known sound format. Commands
// read any other file as a list of sound paths. Pipes are not read, because the bytes would be lost.
bool looks_like_sound(const std::filesystem::path& path);

}  // namespace regard::data
