// Detection of truncated Ogg and MP3 files. libsndfile decodes them up to their last byte without an error.
#include <algorithm>
#include <string>

#include "data/sound_parts.h"

namespace regard::data {
namespace {

constexpr std::size_t kOggHeader = 27;
constexpr std::size_t kLongestOggPage = kOggHeader + 255 + 255 * 255;

// Return up to `count` bytes at byte `from` of the file.
std::string bytes_at(std::FILE* file, std::int64_t from, std::size_t count) {
  std::string bytes(count, '\0');
  if (fseeko(file, from, SEEK_SET) != 0) return "";
  bytes.resize(std::fread(bytes.data(), 1, count, file));
  return bytes;
}

unsigned octet(const std::string& bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

}  // namespace

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
