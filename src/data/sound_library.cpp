// Decoding of sound files with libsndfile.
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/file.h"
#include "data/sound_parts.h"
#include "regard/error.h"

#ifdef REGARD_HAVE_SNDFILE
#include <sndfile.h>
#include <unistd.h>
#endif

namespace regard::data {

#ifdef REGARD_HAVE_SNDFILE
namespace {

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

class LibrarySource : public SoundSource {
 public:
  explicit LibrarySource(const std::filesystem::path& path) : file_(path.string()) {
    if (const TemporaryFile same{std::fopen(path.c_str(), "rb"), std::fclose}) check_end(same.get());
    sound_ = sf_open(path.c_str(), SFM_READ, &info_);
    check();
  }
  LibrarySource(TemporaryFile copy, std::string name) : file_(std::move(name)), copy_(std::move(copy)) {
    check_end(copy_.get());
    if (lseek(fileno(copy_.get()), 0, SEEK_SET) != 0) throw io_error("temporary file", "cannot read", errno);
    sound_ = sf_open_fd(fileno(copy_.get()), SFM_READ, &info_, 0);
    check();
  }
  ~LibrarySource() override {
    if (sound_ != nullptr) sf_close(sound_);
  }
  LibrarySource(const LibrarySource&) = delete;
  LibrarySource& operator=(const LibrarySource&) = delete;

  const SoundFormat& format() const override { return format_; }

  std::size_t read(std::span<float> to) override {
    const auto channels = static_cast<std::size_t>(format_.channels);
    std::size_t done = 0;
    while (done < to.size() / channels) {
      const sf_count_t got = sf_readf_float(sound_, to.data() + done * channels,
                                            static_cast<sf_count_t>(to.size() / channels - done));
      if (got <= 0) break;
      for (std::size_t i = 0; i < static_cast<std::size_t>(got) * channels; ++i)
        if (!std::isfinite(to[done * channels + i]))
          throw file_error(file_, "a sample is not finite").found(std::to_string(to[done * channels + i]));
      done += static_cast<std::size_t>(got);
    }
    read_ += static_cast<sf_count_t>(done);
    if (done == to.size() / channels) return done;
    if (sf_error(sound_) != SF_ERR_NO_ERROR)
      throw file_error(file_, "the sound is damaged").found(sf_strerror(sound_));
    if (states_frames_ && read_ + kMp3Slack < info_.frames)
      throw truncated().expected(std::to_string(info_.frames - read_) + " more frames");
    return done;
  }

 private:
  // Number of samples per channel that may be missing at the end: two MP3 frames of 1152 samples. Some
  // versions of the MP3 decoder do not remove the encoder's delay.
  static constexpr sf_count_t kMp3Slack = 2 * 1152;

  Error truncated() const { return file_error(file_, "the file is truncated").found("the end of the file"); }
  void check_end(std::FILE* file) {
    if (is_truncated_ogg(file)) throw truncated().expected("the last page of the Ogg stream");
    if (is_truncated_wav(file)) throw truncated().expected("all samples of the WAV file");
    if (ends_within_samples(file)) throw truncated().expected("all samples that the header declares");
    states_frames_ = states_mp3_frames(file);
  }
  void check() {
    if (sound_ == nullptr)
      throw file_error(file_, "cannot read this sound file")
          .found(sf_strerror(nullptr))
          .expected("a format that libsndfile reads, such as WAV, FLAC or Ogg");
    format_.rate = info_.samplerate, format_.channels = info_.channels;
    SF_FORMAT_INFO about{};
    about.format = info_.format & SF_FORMAT_TYPEMASK;
    sf_command(nullptr, SFC_GET_FORMAT_INFO, &about, sizeof about);
    format_.name = about.name != nullptr ? about.name : "sound";
    try {
      check_format(format_, file_);
    } catch (...) {
      sf_close(std::exchange(sound_, nullptr));
      throw;
    }
  }

  std::string file_;
  TemporaryFile copy_{nullptr, std::fclose};
  SF_INFO info_{};
  SNDFILE* sound_ = nullptr;
  SoundFormat format_;
  sf_count_t read_ = 0;         // number of frames read
  bool states_frames_ = false;  // true if info_.frames is exact
};

}  // namespace

std::unique_ptr<SoundSource> open_with_library(const std::filesystem::path& path) {
  return std::make_unique<LibrarySource>(path);
}

std::unique_ptr<SoundSource> open_with_library(InputStream& stream, std::string_view first) {
  TemporaryFile copy(std::tmpfile(), std::fclose);
  if (!copy) throw io_error("temporary file", "cannot create", errno);
  std::uint64_t size = 0;
  const auto write = [&](std::string_view bytes) {
    size += bytes.size();
    if (size > kMostPipedBytes)
      throw file_error(stream.name(), "the sound is too large for a temporary file")
          .expected("at most " + std::to_string(kMostPipedBytes >> 20) + " MiB")
          .remedy("Give an uncompressed file instead of a pipe or a compressed file, or convert it to WAV");
    if (std::fwrite(bytes.data(), 1, bytes.size(), copy.get()) != bytes.size())
      throw io_error("temporary file", "cannot write", errno);
  };
  write(first);
  for (std::string piece; stream.read(piece); piece.clear()) write(piece);
  if (std::fflush(copy.get()) != 0) throw io_error("temporary file", "cannot write", errno);
  return std::make_unique<LibrarySource>(std::move(copy), stream.name());
}

#else

namespace {
[[noreturn]] void refuse(const std::string& file) {
  throw file_error(file, "this build reads only WAV files of PCM, float, A-law and μ-law")
      .remedy("Convert the file to 16-bit PCM, or build regard with libsndfile (package libsndfile1-dev)");
}
}  // namespace

std::unique_ptr<SoundSource> open_with_library(const std::filesystem::path& path) {
  refuse(path.string());
}
std::unique_ptr<SoundSource> open_with_library(InputStream& stream, std::string_view) {
  refuse(stream.name());
}

#endif

}  // namespace regard::data
