#include "data/encode_png.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace regard::data {
namespace {

void add_number(std::string& to, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift);
}

// Return the cyclic redundancy check of the PNG specification (annex D).
std::uint32_t crc_of(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

void add_chunk(std::string& to, std::string_view kind, std::string_view data) {
  add_number(to, static_cast<std::uint32_t>(data.size()));
  const std::size_t begin = to.size();
  to += kind;
  to += data;
  add_number(to, crc_of(std::string_view(to).substr(begin)));
}

// Return the bytes as stored blocks of DEFLATE (RFC 1951) in a zlib stream (RFC 1950).
std::string stored(std::string_view bytes) {
  constexpr std::size_t kLongestBlock = 0xffff;
  std::string to("\x78\x01", 2);
  std::uint32_t low = 1, high = 0;  // sums of the Adler-32 checksum
  for (std::size_t begin = 0; begin < bytes.size(); begin += kLongestBlock) {
    const std::size_t size = std::min(kLongestBlock, bytes.size() - begin);
    to += static_cast<char>(begin + size == bytes.size() ? 1 : 0);
    for (const std::size_t length : {size, ~size}) {
      to += static_cast<char>(length & 0xff);
      to += static_cast<char>(length >> 8 & 0xff);
    }
    for (const char byte : bytes.substr(begin, size)) {
      low = (low + static_cast<std::uint8_t>(byte)) % 65521;
      high = (high + low) % 65521;
    }
    to += bytes.substr(begin, size);
  }
  add_number(to, high << 16 | low);
  return to;
}

}  // namespace

std::string encode_png(const Image& image) {
  std::string header, rows;
  add_number(header, static_cast<std::uint32_t>(image.width));
  add_number(header, static_cast<std::uint32_t>(image.height));
  header += std::string("\x08\x02\0\0\0", 5);  // bit depth 8, colour type RGB
  const auto width = static_cast<std::size_t>(3 * image.width);
  for (std::int64_t y = 0; y < image.height; ++y) {
    rows += '\0';  // filter type of the row: none
    rows.append(reinterpret_cast<const char*>(image.at(y, 0)), width);
  }
  std::string png("\x89PNG\r\n\x1a\n", 8);
  add_chunk(png, "IHDR", header);
  add_chunk(png, "IDAT", stored(rows));
  add_chunk(png, "IEND", "");
  return png;
}

}  // namespace regard::data
