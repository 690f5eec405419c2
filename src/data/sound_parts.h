// Parts of SoundStream: decoders and the resampler.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/input_stream.h"
#include "data/sound.h"

namespace regard::data {

// Return true if the first bytes are those of a RIFF WAVE or RF64 file.
bool is_wav(std::string_view first);

// Return true if the samples of a WAV file must be decoded with libsndfile: ADPCM and GSM 6.10. `first` holds
// the bytes already read from the stream; the bytes up to the chunk "fmt " are read and appended. Returns
// false if the first 16 MiB do not contain this chunk.
bool wav_needs_library(InputStream& stream, std::string& first);
// Return true if the file is a WAV file that ends before the end of its samples, or that has no chunk "data".
// The position in the file is changed.
bool is_truncated_wav(std::FILE* file);

// Decode a WAV file. `first` holds the bytes already read from the stream.
std::unique_ptr<SoundSource> open_wav(std::unique_ptr<InputStream> stream, std::string first);

// Decode a file with libsndfile. Throws bad_file if this build lacks libsndfile.
std::unique_ptr<SoundSource> open_with_library(const std::filesystem::path& path);
// Decode a stream with libsndfile. It is copied to an unnamed temporary file of at most kMostPipedBytes.
std::unique_ptr<SoundSource> open_with_library(InputStream& stream, std::string_view first);

// Return true if the file is a truncated Ogg file: its last page is incomplete, or not marked as the last
// page of its stream. The position in the file is changed.
bool is_truncated_ogg(std::FILE* file);
// Return true if the file is an AIFF, AU or Wave64 file that ends before the end of its samples. The position
// in the file is changed.
bool ends_within_samples(std::FILE* file);
// Return true if the file is an MP3 file that states its number of frames (in a "Xing" or "Info" frame);
// otherwise decoders estimate the number. The position in the file is changed.
bool states_mp3_frames(std::FILE* file);

// Sampling rate conversion of one channel by libsoxr (high quality).
class Resampler {
 public:
  // Throws bad_file if this build lacks libsoxr. `file` is used in messages.
  static std::unique_ptr<Resampler> make(std::int64_t from, std::int64_t to, const std::string& file);
  virtual ~Resampler() = default;
  // Convert samples of `in` and append them to `out`. An empty `in` means the end of the sound.
  virtual void convert(std::span<const float> in, std::vector<float>& out) = 0;
};

// Throws bad_file unless rate and channels are within the limits of sound.h.
void check_format(const SoundFormat& format, const std::string& file);

}  // namespace regard::data
