// Image files decoded to 8-bit RGB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "regard/error.h"

namespace regard::data {

struct Image {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // [height, width, 3]: red, green and blue of each pixel

  const std::uint8_t* at(std::int64_t y, std::int64_t x) const { return pixels.data() + 3 * (y * width + x); }
};

// Maximum side length in pixels, and maximum number of pixels. A larger image is rejected before memory for
// its pixels is allocated.
constexpr std::int64_t kLongestSide = 1 << 16;
constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

struct ImageLimits {
  std::uint64_t bytes = std::uint64_t{1} << 30;  // maximum size in bytes of the file after decompression
  std::int64_t pixels = kMostPixels;            // maximum number of pixels of each image; at most kMostPixels
  std::int64_t images = std::int64_t{1} << 32;  // maximum number of images in an IDX file
};

// Read the images of a file; "-" is standard input. The format is detected from the first bytes: PNG, JPEG
// and WebP (if the build has libpng, libjpeg and libwebp), PPM and PGM (plain or binary), IDX (unsigned bytes
// [count, rows, columns]; all images are returned). Files compressed with gzip or zstd are decompressed. Grey
// images get three equal channels, 16-bit samples of PNG keep their upper byte, and transparency is dropped,
// as in Pillow's convert("RGB"). Samples of PPM and PGM are scaled from their maximum value to 255 and
// rounded. The EXIF orientation is applied, as transformers' load_image does. Only the default image of an
// animated PNG is read. Throws bad_file if the file is not an image, is damaged or larger than `limits`, or
// has a format that this build cannot read.
std::vector<Image> read_images(const std::filesystem::path& path, const ImageLimits& limits = {});

// Read a file that contains one image. Throws as read_images() does, and bad_file for an IDX file with
// another number of images.
Image read_one_image(const std::filesystem::path& path);

// Return true if `path` is a regular file that starts with the magic number of a format that read_images()
// reads. Commands read any other file as a list of image paths, one per line. Pipes are not read, because the
// bytes would be lost.
bool looks_like_image(const std::filesystem::path& path);

// Return true if `text` names an image, by one of two rules: `text` ends in the file extension of an image
// format (the file need not exist), or looks_like_image() accepts the file folder / text.
bool names_image(const std::string& text, const std::filesystem::path& folder);

// Each function decodes one format. `bytes` is the content of the whole file, `file` its name for messages.
Image decode_png(std::string_view bytes, const std::string& file, std::int64_t most_pixels = kMostPixels);
Image decode_jpeg(std::string_view bytes, const std::string& file, std::int64_t most_pixels = kMostPixels);
Image decode_webp(std::string_view bytes, const std::string& file, std::int64_t most_pixels = kMostPixels);
Image decode_pnm(std::string_view bytes, const std::string& file, std::int64_t most_pixels = kMostPixels);
std::vector<Image> decode_idx(std::string_view bytes, const std::string& file,
                              const ImageLimits& limits = {});

// Return the error for a format that this build cannot read, because it lacks `library`. `other` is a format
// to which the image can be converted.
Error unreadable_format(const std::string& file, const std::string& format, const std::string& library,
                        const std::string& other);

// Return a black image of this size. Throws bad_file if a side is not 1 to kLongestSide pixels long, or if
// the image has more than `most_pixels` pixels.
Image blank_image(std::int64_t height, std::int64_t width, const std::string& file,
                  std::int64_t most_pixels = kMostPixels);

}  // namespace regard::data
