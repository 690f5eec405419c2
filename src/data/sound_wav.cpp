// Decoder of RIFF WAVE ("Multimedia Programming Interface and Data Specifications 1.0", 1991, and the
// extensible format) and of RF64 (EBU Tech 3306). RF64 has sizes of 64 bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/byte_order.h"
#include "base/counted.h"
#include "data/sound_parts.h"
#include "regard/error.h"

namespace regard::data {
namespace {

constexpr std::uint32_t kPcm = 1, kFloat = 3, kALaw = 6, kMuLaw = 7, kExtensible = 0xFFFE;
constexpr std::uint32_t kMicrosoftAdpcm = 2, kImaAdpcm = 0x11, kGsm = 0x31;  // decoded with libsndfile
// maximum number of bytes that are searched for the chunk "fmt " to choose the decoder
constexpr std::uint64_t kMostBeforeFormat = std::uint64_t{1} << 24;

// Return true for a size that means "unknown". Programs that write to a pipe use such sizes: ffmpeg
// 0xFFFFFFFF; espeak-ng 0x7FFFF000; SoX 0x7FFFF000, rounded down to whole frames; arecord 0x7FFFFF00 or
// 0x80000000.
bool is_unknown_size(std::uint64_t size) {
  return (size >= 0x7FFFE000 && size <= 0x80000000) || (size >= 0xFFFFF000 && size <= 0xFFFFFFFF);
}

std::uint32_t number_at(const char* bytes, std::size_t count) {
  return static_cast<std::uint32_t>(little_endian(bytes, count));
}

// The content of a chunk: its offset in the file and its size.
struct Chunk {
  std::uint64_t at = 0, size = 0;
};

// Find the first chunk with this name, up to the chunk "data", which contains the samples. read_at(from, to,
// count) copies `count` bytes at offset `from` and returns false if the file has no such bytes.
template <class ReadAt>
std::optional<Chunk> find_chunk(std::string_view name, const ReadAt& read_at) {
  char header[8];
  for (std::uint64_t at = 12; read_at(at, header, 8);) {
    const std::uint64_t size = number_at(header + 4, 4);
    const std::string_view found(header, 4);
    if (found == name) return Chunk{at + 8, size};
    if (found == "data") break;
    at += 8 + size + size % 2;
  }
  return std::nullopt;
}

struct Encoding {
  std::uint32_t tag = 0;  // format tag: kPcm, kFloat, kALaw or kMuLaw
  std::size_t bytes = 0;  // number of bytes per sample
};

// Return the name of the encoding, or "" if this decoder does not support it.
std::string name_of(std::uint32_t tag, std::uint32_t bits) {
  if (bits == 8 && tag == kALaw) return "A-law";
  if (bits == 8 && tag == kMuLaw) return "μ-law";
  const bool pcm = tag == kPcm && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
  if (!pcm && !(tag == kFloat && (bits == 32 || bits == 64))) return "";
  return std::to_string(bits) + "-bit " + (pcm ? "PCM" : "float");
}

// Decode a sample of ITU-T G.711. The result has 16 bits.
int from_a_law(unsigned code) {
  code ^= 0x55;
  const unsigned exponent = code >> 4 & 7, fraction = (code & 15) << 4;
  const auto size = static_cast<int>(exponent == 0 ? fraction + 8 : (fraction + 0x108) << (exponent - 1));
  return (code & 0x80) != 0 ? size : -size;
}
int from_mu_law(unsigned code) {
  code = ~code;
  const auto size = static_cast<int>((((code & 15) << 3) + 0x84) << (code >> 4 & 7)) - 0x84;
  return (code & 0x80) != 0 ? -size : size;
}

float decoded(const Encoding& encoding, const char* at) {
  if (encoding.tag == kFloat && encoding.bytes == 4) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  if (encoding.tag == kFloat) {
    double value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<float>(value);
  }
  if (encoding.tag != kPcm) {
    const unsigned code = static_cast<unsigned char>(*at);
    return static_cast<float>(encoding.tag == kALaw ? from_a_law(code) : from_mu_law(code)) / 32768.0f;
  }
  if (encoding.bytes == 1)
    return static_cast<float>(static_cast<int>(static_cast<unsigned char>(*at)) - 128) / 128.0f;
  const auto shift = static_cast<unsigned>(8 * (4 - encoding.bytes));
  const auto value = static_cast<std::int32_t>(number_at(at, encoding.bytes) << shift);
  return static_cast<float>(static_cast<double>(value) / 2147483648.0);
}

class WavSource : public SoundSource {
 public:
  WavSource(std::unique_ptr<InputStream> stream, std::string first)
      : stream_(std::move(stream)), buffer_(std::move(first)) {
    const std::uint32_t riff_size = number_at(buffer_.data() + 4, 4);
    skip(12);  // skip "RIFF", size and "WAVE"
    while (read_chunk_header() != "data") read_chunk();
    if (encoding_.tag == 0) throw wrong("the chunk \"data\" precedes the chunk \"fmt \"");
    if (long_size_ > 0 && chunk_size_ == 0xFFFFFFFF)
      chunk_size_ = long_size_;
    else
      unknown_size_ =
          is_unknown_size(chunk_size_) || (chunk_size_ == 0 && has(1) && !chunk_follows(riff_size));
  }

  const SoundFormat& format() const override { return format_; }

  std::size_t read(std::span<float> to) override {
    const std::size_t channels = static_cast<std::size_t>(format_.channels),
                      frame = channels * encoding_.bytes;
    std::size_t done = 0;
    for (const std::size_t wanted = to.size() / channels; done < wanted;) {
      const std::uint64_t left =
          unknown_size_ ? std::numeric_limits<std::uint64_t>::max() : chunk_size_ / frame;
      if (left == 0) break;
      if (!has(frame)) {
        if (unknown_size_) break;
        throw wrong("the file is truncated")
            .found("the end of the file")
            .expected(std::to_string(left) + " more frames");
      }
      std::size_t frames = std::min(wanted - done, (buffer_.size() - begin_) / frame);
      frames = static_cast<std::size_t>(std::min<std::uint64_t>(frames, left));
      for (std::size_t i = 0; i < frames * channels; ++i) {
        const float value = decoded(encoding_, buffer_.data() + begin_ + i * encoding_.bytes);
        if (!std::isfinite(value)) throw wrong("a sample is not finite");
        to[done * channels + i] = value;
      }
      skip(frames * frame);
      if (!unknown_size_) chunk_size_ -= frames * frame;
      done += frames;
    }
    return done;
  }

 private:
  Error wrong(std::string message) const {
    return file_error(stream_->name(), std::move(message))
        .at({stream_->name(), -1, static_cast<std::int64_t>(place_)});
  }

  // Return true if at least `count` more bytes can be read.
  bool has(std::size_t count) {
    if (begin_ > InputStream::kPiece) buffer_.erase(0, std::exchange(begin_, 0));
    while (buffer_.size() - begin_ < count)
      if (ended_ || !stream_->read(buffer_)) return ended_ = true, false;
    return true;
  }
  void skip(std::uint64_t count) {
    while (count > 0) {
      if (!has(1)) throw wrong("the file is truncated");
      const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(count, buffer_.size() - begin_));
      begin_ += step, place_ += step, count -= step;
    }
  }

  // Return true if another chunk follows a chunk "data" of size 0. The size is then correct; otherwise the
  // program wrote to a pipe and did not know the number of samples.
  bool chunk_follows(std::uint32_t riff_size) {
    if (is_unknown_size(riff_size) || riff_size + std::uint64_t{8} < place_ + 8 || !has(8)) return false;
    return std::all_of(buffer_.data() + begin_, buffer_.data() + begin_ + 4,
                       [](char c) { return c >= ' ' && c <= '~'; });
  }

  std::string read_chunk_header() {
    if (!has(8)) throw wrong("the WAV file contains no samples").expected("a chunk \"data\"");
    chunk_ = buffer_.substr(begin_, 4);
    chunk_size_ = number_at(buffer_.data() + begin_ + 4, 4);
    skip(8);
    return chunk_;
  }

  void read_chunk() {
    const std::uint64_t size = chunk_size_;
    if (chunk_ == "ds64" && size >= 16 && has(16)) long_size_ = little_endian(buffer_.data() + begin_ + 8, 8);
    if (chunk_ == "fmt ") {
      if (size < 16 || size > 65536)
        throw wrong("the chunk \"fmt \" has a wrong size")
            .found(counted(size, "byte"))
            .expected("16 to 65536 bytes");
      if (!has(static_cast<std::size_t>(size))) throw wrong("the file is truncated");
      read_format(buffer_.data() + begin_, static_cast<std::size_t>(size));
    }
    skip(size);
    if (size % 2 == 1 && has(1)) skip(1);  // chunks start at even bytes
  }

  void read_format(const char* at, std::size_t size) {
    encoding_.tag = number_at(at, 2);
    format_.channels = number_at(at + 2, 2);
    format_.rate = number_at(at + 4, 4);
    const std::uint32_t frame = number_at(at + 12, 2), bits = number_at(at + 14, 2);
    if (encoding_.tag == kExtensible && size >= 26) encoding_.tag = number_at(at + 24, 2);
    encoding_.bytes = bits / 8;
    const std::string name = name_of(encoding_.tag, bits);
    if (name.empty())
      throw wrong("the encoding of the samples is not supported")
          .found("format " + std::to_string(encoding_.tag) + ", " + std::to_string(bits) + " bits")
          .expected("PCM of 8, 16, 24 or 32 bits, float of 32 or 64 bits, A-law or μ-law")
          .remedy("Convert the file to 16-bit PCM");
    check_format(format_, stream_->name());
    if (frame != static_cast<std::uint32_t>(format_.channels) * encoding_.bytes)
      throw wrong("the size of a frame does not match the channels and the bits of a sample")
          .found(counted(frame, "byte"))
          .expected(counted(static_cast<std::uint32_t>(format_.channels) * encoding_.bytes, "byte"));
    format_.name = "WAV, " + name;
  }

  std::unique_ptr<InputStream> stream_;
  std::string buffer_;  // bytes of the file; the bytes from begin_ on are not yet consumed
  std::size_t begin_ = 0;
  std::uint64_t place_ = 0;  // byte offset of begin_ in the file, for error messages
  bool ended_ = false;
  // size of the current chunk; while samples are read, the number of remaining bytes
  std::uint64_t chunk_size_ = 0;
  std::string chunk_;            // name of the current chunk
  std::uint64_t long_size_ = 0;  // RF64: size of the chunk "data", read from the chunk "ds64"; 0: none
  bool unknown_size_ = false;
  SoundFormat format_;
  Encoding encoding_;
};

}  // namespace

bool is_wav(std::string_view first) {
  const std::string_view kind = first.substr(0, 4);
  return first.size() >= 12 && (kind == "RIFF" || kind == "RF64") && first.substr(8, 4) == "WAVE";
}

bool wav_needs_library(InputStream& stream, std::string& first) {
  const auto read_at = [&](std::uint64_t from, char* to, std::size_t count) {
    if (from + count > kMostBeforeFormat) return false;
    while (first.size() < from + count)
      if (!stream.read(first)) return false;
    std::memcpy(to, first.data() + from, count);
    return true;
  };
  const std::optional<Chunk> format = find_chunk("fmt ", read_at);
  char bytes[2];
  if (!format || !read_at(format->at, bytes, 2)) return false;
  const std::uint32_t tag = number_at(bytes, 2);
  return tag == kMicrosoftAdpcm || tag == kImaAdpcm || tag == kGsm;
}

bool is_truncated_wav(std::FILE* file) {
  const auto read_at = [&](std::uint64_t from, char* to, std::size_t count) {
    return fseeko(file, static_cast<off_t>(from), SEEK_SET) == 0 && std::fread(to, 1, count, file) == count;
  };
  char bytes[12];
  if (!read_at(0, bytes, 12) || !is_wav({bytes, 12}) || fseeko(file, 0, SEEK_END) != 0) return false;
  const auto end = static_cast<std::uint64_t>(ftello(file));
  const std::optional<Chunk> samples = find_chunk("data", read_at);
  return !samples || (!is_unknown_size(samples->size) && samples->at + samples->size > end);
}

std::unique_ptr<SoundSource> open_wav(std::unique_ptr<InputStream> stream, std::string first) {
  return std::make_unique<WavSource>(std::move(stream), std::move(first));
}

}  // namespace regard::data
