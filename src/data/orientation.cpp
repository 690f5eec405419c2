#include "data/orientation.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace regard::data {
namespace {

// Reads integers of a TIFF structure in its byte order; returns 0 for positions outside the structure.
class Tiff {
 public:
  explicit Tiff(std::string_view bytes) : bytes_(bytes), little_(bytes.starts_with("II")) {}

  bool valid() const {
    return (little_ || bytes_.starts_with("MM")) && number(2, 2) == 42 && number(4, 4) >= 8;
  }
  std::uint32_t number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value = value << 8 | static_cast<std::uint8_t>(bytes_[at + (little_ ? size - 1 - i : i)]);
    return value;
  }

 private:
  std::string_view bytes_;
  bool little_;
};

}  // namespace

int orientation_of(std::string_view exif) {
  constexpr std::string_view kIntroduction("Exif\0\0", 6);
  if (exif.starts_with(kIntroduction)) exif.remove_prefix(kIntroduction.size());
  const Tiff tiff(exif);
  if (!tiff.valid()) return 1;
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3;
  constexpr std::size_t kEntry = 12;  // size of an entry in bytes: tag, type, count and value
  const std::size_t directory = tiff.number(4, 4), entries = tiff.number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * kEntry;
    if (tiff.number(at, 2) != kOrientation) continue;
    const std::uint32_t value = tiff.number(at + 8, 2);
    return tiff.number(at + 2, 2) == kShort && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Image oriented(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const bool swaps = orientation >= 5;  // true if rows and columns are exchanged
  // right: columns of the stored image are read from right to left; below: rows are read from bottom to top
  const bool right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image turned{swaps ? image.width : image.height, swaps ? image.height : image.width, {}};
  turned.pixels.resize(image.pixels.size());
  std::uint8_t* to = turned.pixels.data();
  for (std::int64_t y = 0; y < turned.height; ++y)
    for (std::int64_t x = 0; x < turned.width; ++x, to += 3) {
      const std::int64_t row = swaps ? x : y, column = swaps ? y : x;
      std::memcpy(
          to, image.at(below ? image.height - 1 - row : row, right ? image.width - 1 - column : column), 3);
    }
  return turned;
}

}  // namespace regard::data
