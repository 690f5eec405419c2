#include "data/image.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/counted.h"
#include "base/input_stream.h"
#include "regard/error.h"

namespace regard::data {
namespace {

constexpr std::string_view kPng("\x89PNG\r\n\x1a\n", 8), kJpeg("\xff\xd8\xff", 3);
// magic number of IDX files: unsigned bytes, three dimensions
constexpr std::string_view kIdx("\0\0\x08\x03", 4);

bool is_pnm(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && std::strchr("2356", bytes[1]) != nullptr &&
         bytes[1] != '\0' && std::strchr(" \t\r\n#", bytes[2]) != nullptr;
}

bool is_webp(std::string_view bytes) {
  return bytes.starts_with("RIFF") && bytes.size() >= 12 && bytes.substr(8, 4) == "WEBP";
}

// Return the name of a known but unsupported format, such as "GIF", if `bytes` has its magic number;
// otherwise null.
const char* known_format(std::string_view bytes) {
  constexpr std::pair<std::string_view, const char*> kFormats[] = {{"GIF8", "GIF"},
                                                                   {"BM", "BMP"},
                                                                   {{"II*\0", 4}, "TIFF"},
                                                                   {{"MM\0*", 4}, "TIFF"},
                                                                   {"%PDF", "PDF"},
                                                                   {"<svg", "SVG"},
                                                                   {{"\0\0\0\x0cJXL ", 8}, "JPEG XL"},
                                                                   {{"\0\0\0\x0cjP  ", 8}, "JPEG 2000"}};
  for (const auto& [magic, name] : kFormats)
    if (bytes.starts_with(magic)) return name;
  if (bytes.size() > 12 && bytes.substr(4, 4) == "ftyp")
    return bytes.substr(8, 3) == "avi" ? "AVIF" : bytes.substr(8, 3) == "hei" ? "HEIC" : "a video";
  return bytes.empty() ? "an empty file" : nullptr;
}

// Reads the decimal numbers of a PNM header and the pixels of a plain PNM file. Numbers are separated by
// white space and comments.
class PnmReader {
 public:
  PnmReader(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::int64_t number(std::int64_t most) {
    skip();
    std::int64_t value = 0;
    const std::size_t begin = at_;
    while (at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9') {
      value = value * 10 + (bytes_[at_++] - '0');
      if (value > most)
        throw wrong("a number in the image file is too large", "at most " + std::to_string(most));
    }
    if (at_ == begin) throw wrong("a number in the image file is missing", "digits");
    return value;
  }

  std::string_view rest_after_one() const { return bytes_.substr(std::min(at_ + 1, bytes_.size())); }

  Error wrong(const char* what, const std::string& expected) const {
    return Error(ErrorKind::bad_file, what, {file_, -1, static_cast<std::int64_t>(at_)}).expected(expected);
  }

 private:
  void skip() {
    for (; at_ < bytes_.size(); ++at_) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else if (std::strchr(" \t\r\n\v\f", bytes_[at_]) == nullptr || bytes_[at_] == '\0') {
        return;
      }
    }
  }
  std::string_view bytes_;
  const std::string& file_;
  std::size_t at_ = 2;  // position of the reader; it starts after the magic number
};

std::uint8_t scaled(std::int64_t value, std::int64_t most) {
  return static_cast<std::uint8_t>(most == 255 ? value : (value * 255 + most / 2) / most);
}

}  // namespace

Error unreadable_format(const std::string& file, const std::string& format, const std::string& library,
                        const std::string& other) {
  return file_error(file, "this build cannot read " + format)
      .remedy("Build with " + library + " installed, or convert the image to " + other);
}

Image blank_image(std::int64_t height, std::int64_t width, const std::string& file,
                  std::int64_t most_pixels) {
  if (height < 1 || width < 1 || height > kLongestSide || width > kLongestSide ||
      height * width > most_pixels)
    throw file_error(file, "the image is empty or too large")
        .found(std::to_string(width) + " × " + std::to_string(height) + " pixels")
        .expected("sides of 1 to " + std::to_string(kLongestSide) + ", at most " +
                  std::to_string(most_pixels) + " pixels");
  Image image{height, width, {}};
  image.pixels.resize(static_cast<std::size_t>(3 * height * width));
  return image;
}

Image decode_pnm(std::string_view bytes, const std::string& file, std::int64_t most_pixels) {
  PnmReader reader(bytes, file);
  const char kind = bytes[1];
  const bool colour = kind == '3' || kind == '6', binary = kind == '5' || kind == '6';
  const std::int64_t width = reader.number(1 << 30), height = reader.number(1 << 30),
                     most = reader.number(65535);
  if (most < 1) throw reader.wrong("the maximum colour value is 0", "1 to 65535");
  const std::size_t channels = colour ? 3 : 1, wide = most > 255 ? 2 : 1;
  // Check the length of the file before allocating the pixels: each sample takes at least one byte, or
  // `wide` bytes in a binary file.
  const std::string_view body = reader.rest_after_one();
  const auto samples = static_cast<std::size_t>(height) * static_cast<std::size_t>(width) * channels;
  if (height > kLongestSide || width > kLongestSide) blank_image(height, width, file, most_pixels);
  if (body.size() / (binary ? wide : 1) < samples)
    throw file_error(file, "the image ends before its last pixel")
        .found(std::to_string(body.size()) + " bytes of pixels")
        .expected("at least " + std::to_string(samples * (binary ? wide : 1)) + " bytes of pixels");
  Image image = blank_image(height, width, file, most_pixels);
  for (std::size_t i = 0; i < samples; ++i) {
    std::int64_t value = 0;
    if (!binary)
      value = reader.number(most);
    else
      for (std::size_t b = 0; b < wide; ++b)
        value = value * 256 + static_cast<std::uint8_t>(body[i * wide + b]);
    if (value > most)
      throw file_error(file, "a pixel exceeds the maximum colour value")
          .found(std::to_string(value))
          .expected("at most " + std::to_string(most));
    const std::size_t copies = colour ? 1 : 3;
    for (std::size_t c = 0; c < copies; ++c) image.pixels[i * copies + c] = scaled(value, most);
  }
  return image;
}

std::vector<Image> decode_idx(std::string_view bytes, const std::string& file, const ImageLimits& limits) {
  const auto big_endian = [&](std::size_t at) {
    std::int64_t value = 0;
    for (std::size_t b = 0; b < 4 && at + b < bytes.size(); ++b)
      value = value * 256 + static_cast<std::uint8_t>(bytes[at + b]);
    return value;
  };
  constexpr std::size_t kHeader = 16;
  const std::int64_t count = big_endian(4), rows = big_endian(8), columns = big_endian(12);
  const std::uint64_t size = bytes.size() < kHeader ? 0 : bytes.size() - kHeader;
  // Multiply in floating point, because the product of the header's numbers may overflow an integer.
  if (bytes.size() < kHeader ||
      static_cast<double>(count) * static_cast<double>(rows) * static_cast<double>(columns) !=
          static_cast<double>(size))
    throw file_error(file, "the length of the IDX file does not match its header")
        .found(std::to_string(size) + " bytes of pixels")
        .expected(std::to_string(count) + " images of " + std::to_string(rows) + " × " +
                  std::to_string(columns));
  if (count > limits.images)
    throw file_error(file, "the IDX file contains too many images")
        .found(std::to_string(count))
        .expected("at most " + std::to_string(limits.images));
  std::vector<Image> images;
  for (std::int64_t i = 0; i < count; ++i) {
    Image image = blank_image(rows, columns, file, limits.pixels);
    const char* from = bytes.data() + kHeader + static_cast<std::size_t>(i * rows * columns);
    for (std::size_t p = 0; p < image.pixels.size(); ++p)
      image.pixels[p] = static_cast<std::uint8_t>(from[p / 3]);
    images.push_back(std::move(image));
  }
  return images;
}

bool looks_like_image(const std::filesystem::path& path) {
  if (!can_be_read_again(path)) return false;
  char first[16] = {};
  std::ifstream stream(path, std::ios::binary);
  stream.read(first, sizeof(first));
  std::string bytes(first, static_cast<std::size_t>(stream.gcount()));
  if (compression_of(bytes).value_or(Compression::none) != Compression::none) {
    InputStream packed(path);
    bytes.clear();
    try {
      while (bytes.size() < sizeof(first) && packed.read(bytes)) {
      }
    } catch (const Error& error) {
      // bad_file means that the file is damaged, or that only its first bytes look compressed. It is not an
      // image.
      if (error.kind() != ErrorKind::bad_file) throw;
    }
  }
  return bytes.starts_with(kPng) || bytes.starts_with(kJpeg) || is_webp(bytes) || bytes.starts_with(kIdx) ||
         is_pnm(bytes);
}

bool names_image(const std::string& text, const std::filesystem::path& folder) {
  std::string ending = std::filesystem::path(text).extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  constexpr std::string_view kEndings[] = {".png", ".jpg", ".jpeg", ".webp", ".ppm", ".pgm"};
  if (std::ranges::find(kEndings, ending) != std::end(kEndings)) return true;
  return looks_like_image(folder / text);
}

std::vector<Image> read_images(const std::filesystem::path& path, const ImageLimits& limits) {
  const std::string bytes = read_decompressed(path, limits.bytes), file = path.string();
  if (bytes.starts_with(kPng)) return {decode_png(bytes, file, limits.pixels)};
  if (bytes.starts_with(kJpeg)) return {decode_jpeg(bytes, file, limits.pixels)};
  if (is_webp(bytes)) return {decode_webp(bytes, file, limits.pixels)};
  if (bytes.starts_with(kIdx)) return decode_idx(bytes, file, limits);
  if (is_pnm(bytes)) return {decode_pnm(bytes, file, limits.pixels)};
  const char* name = known_format(bytes);
  throw file_error(file, "unknown image format")
      .found(name != nullptr ? name : "")
      .expected("PNG, JPEG, WebP, PPM, PGM or IDX");
}

Image read_one_image(const std::filesystem::path& path) {
  std::vector<Image> images = read_images(path);
  if (images.size() != 1)
    throw file_error(path.string(), "the file does not contain exactly one image")
        .found(counted(images.size(), "image"))
        .expected("one image in each file");
  return std::move(images[0]);
}

}  // namespace regard::data
