// Detection of truncated files. libsndfile decodes Ogg, MP3, AIFF, AU and Wave64 files up to their last byte
// without an error.
#include <algorithm>
#include <limits>
#include <string>

#include "base/byte_order.h"
#include "data/sound_parts.h"

namespace regard::data {
namespace {

constexpr std::size_t kOggHeader = 27;
constexpr std::size_t kLongestOggPage = kOggHeader + 255 + 255 * 255;

// Return up to `count` bytes at offset `from` of the file.
std::string bytes_at(std::FILE* file, std::int64_t from, std::size_t count) {
  std::string bytes(count, '\0');
  if (fseeko(file, from, SEEK_SET) != 0) return "";
  bytes.resize(std::fread(bytes.data(), 1, count, file));
  return bytes;
}

unsigned octet(const std::string& bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// Return the offset after the last sample of an AIFF file, as its header declares; 0 if the end is unknown.
std::uint64_t end_of_aiff(std::FILE* file) {
  for (std::uint64_t at = 12;;) {
    const std::string header = bytes_at(file, static_cast<std::int64_t>(at), 8);
    if (header.size() < 8) return 0;
    const std::uint64_t size = big_endian(header.data() + 4, 4);
    // If the output is a pipe, SoX writes a size of about 0x7F000000, and other programs a size near 2^32.
    const bool known = size < 0x7EFF0000 || (size > 0x80000000 && size < 0xFFFF0000);
    if (header.starts_with("SSND")) return known ? at + 8 + size : 0;
    at += 8 + size + size % 2;
  }
}

// Return the offset after the last sample of a Wave64 file, as its header declares; 0 if the end is unknown.
// The size of a chunk includes its header of 24 bytes, and chunks start at multiples of 8 bytes.
std::uint64_t end_of_wave64(std::FILE* file) {
  constexpr std::uint64_t kHeader = 24, kLargest = std::uint64_t{1} << 62;
  for (std::uint64_t at = 40;;) {
    const std::string header = bytes_at(file, static_cast<std::int64_t>(at), kHeader);
    if (header.size() < kHeader) return 0;
    const std::uint64_t size = little_endian(header.data() + 16, 8);
    if (size < kHeader || size > kLargest) return 0;
    if (header.starts_with("data")) return at + size;
    at += (size + 7) / 8 * 8;
    if (at > kLargest) return 0;
  }
}

// Return the offset after the last sample of an AU file, as its header declares; 0 if the end is unknown.
std::uint64_t end_of_au(const std::string& header) {
  const std::uint64_t at = big_endian(header.data() + 4, 4), size = big_endian(header.data() + 8, 4);
  return size == std::numeric_limits<std::uint32_t>::max() ? 0 : at + size;
}

}  // namespace

bool ends_within_samples(std::FILE* file) {
  const std::string first = bytes_at(file, 0, 16);
  if (first.size() < 16 || fseeko(file, 0, SEEK_END) != 0) return false;
  const auto size = static_cast<std::uint64_t>(ftello(file));
  const bool aiff = first.starts_with("FORM") && first.substr(8, 3) == "AIF";
  if (aiff) return end_of_aiff(file) > size;
  if (first.starts_with(".snd")) return end_of_au(first) > size;
  return first.starts_with("riff\x2e\x91\xcf\x11") && end_of_wave64(file) > size;
}

bool is_truncated_ogg(std::FILE* file) {
  if (bytes_at(file, 0, 4) != "OggS" || fseeko(file, 0, SEEK_END) != 0) return false;
  const std::int64_t size = ftello(file);
  constexpr auto kTail = static_cast<std::int64_t>(kLongestOggPage);
  const std::string tail = bytes_at(file, std::max<std::int64_t>(0, size - kTail), kLongestOggPage);
  const std::size_t page = tail.rfind("OggS");
  if (page == tail.npos || tail.size() - page < kOggHeader) return true;
  const std::size_t segments = octet(tail, page + 26);
  std::size_t length = kOggHeader + segments;
  if (tail.size() - page < length) return true;
  for (std::size_t i = 0; i < segments; ++i) length += octet(tail, page + kOggHeader + i);
  constexpr unsigned kLastPage = 4;
  return tail.size() - page < length || (octet(tail, page + 5) & kLastPage) == 0;
}

bool states_mp3_frames(std::FILE* file) {
  std::int64_t at = 0;
  if (const std::string id3 = bytes_at(file, 0, 10); id3.size() == 10 && id3.starts_with("ID3"))
    at = 10 + (octet(id3, 6) << 21 | octet(id3, 7) << 14 | octet(id3, 8) << 7 | octet(id3, 9));
  const std::string frame = bytes_at(file, at, 64);
  if (frame.size() < 64 || octet(frame, 0) != 0xFF || (octet(frame, 1) & 0xE0) != 0xE0) return false;
  // The tag "Xing" or "Info" follows the header, the checksum (if there is one) and the side information.
  const bool first_version = (octet(frame, 1) & 8) != 0, checksum = (octet(frame, 1) & 1) == 0;
  const bool mono = octet(frame, 3) >> 6 == 3;
  const std::size_t side = first_version ? (mono ? 17 : 32) : (mono ? 9 : 17);
  const std::size_t name = 4 + (checksum ? 2 : 0) + side;
  const std::string_view tag = std::string_view(frame).substr(name, 4);
  constexpr unsigned kHasFrames = 1;
  return (tag == "Xing" || tag == "Info") && (octet(frame, name + 7) & kHasFrames) != 0;
}

}  // namespace regard::data
