// WebP decoding with libwebp. Transparency is dropped, as in Pillow's convert("RGB").
#include "data/image.h"
#include "data/orientation.h"
#include "regard/error.h"

#ifdef REGARD_HAVE_WEBP
#include <webp/decode.h>

#endif

namespace regard::data {
#ifdef REGARD_HAVE_WEBP
namespace {

// Return the EXIF chunk of the RIFF container; empty if there is none.
std::string_view exif_of(std::string_view bytes) {
  constexpr std::size_t kHeader = 12, kChunk = 8;
  for (std::size_t at = kHeader; at + kChunk <= bytes.size();) {
    std::size_t size = 0;
    for (std::size_t i = 4; i-- > 0;) size = size << 8 | static_cast<std::uint8_t>(bytes[at + 4 + i]);
    if (size > bytes.size() - at - kChunk) return {};
    if (bytes.substr(at, 4) == "EXIF") return bytes.substr(at + kChunk, size);
    at += kChunk + size + size % 2;
  }
  return {};
}

}  // namespace

Image decode_webp(std::string_view bytes, const std::string& file, std::int64_t most_pixels) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK)
    throw file_error(file, "the WebP image is damaged").found("an invalid header");
  if (features.has_animation != 0)
    throw file_error(file, "animated WebP images are not supported")
        .remedy("Save one frame of the file as a still image");
  Image image = blank_image(features.height, features.width, file, most_pixels);
  if (WebPDecodeRGBInto(data, bytes.size(), image.pixels.data(), image.pixels.size(),
                        static_cast<int>(3 * image.width)) == nullptr)
    throw file_error(file, "the WebP image is damaged").found("incomplete or invalid pixels");
  return oriented(std::move(image), orientation_of(exif_of(bytes)));
}
#else
Image decode_webp(std::string_view, const std::string& file, std::int64_t) {
  throw unreadable_format(file, "WebP", "libwebp", "PNG");
}
#endif
}  // namespace regard::data
