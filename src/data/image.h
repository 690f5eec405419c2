// Images from files, as bytes of colour.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace regard::data {

struct Image {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3]: red, green, blue

  const std::uint8_t* at(std::int64_t y, std::int64_t x) const { return pixels.data() + 3 * (y * width + x); }
};

// Neither side is longer, and no image has more pixels: larger ones are refused before memory is asked for.
constexpr std::int64_t kLongestSide = 1 << 16;
constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

// The images of a file, told by its first bytes: PNG and JPEG (where the build has libpng and libjpeg), PPM
// and PGM (plain or binary), IDX (all of its images [count, rows, columns], bytes). Grey becomes three equal
// colours, transparency is dropped, as Pillow's convert("RGB") does. Throws bad_file: no image, damaged, too
// large, a kind that this build cannot read.
std::vector<Image> read_images(const std::filesystem::path& path);

// Whether the file begins like one of these: what else is no image, but perhaps a list of their names.
bool looks_like_image(const std::filesystem::path& path);

// The parts of read_images(): `bytes` is the whole file, `file` its name for messages.
Image decode_png(std::string_view bytes, const std::string& file);
Image decode_jpeg(std::string_view bytes, const std::string& file);
Image decode_pnm(std::string_view bytes, const std::string& file);
std::vector<Image> decode_idx(std::string_view bytes, const std::string& file);

// An image of this size, its pixels not set. Throws bad_file where that is empty or too large.
Image blank_image(std::int64_t height, std::int64_t width, const std::string& file);

}  // namespace regard::data
