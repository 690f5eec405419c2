// JPEG decoding with libjpeg(-turbo) and its default settings, like Pillow. libjpeg reports errors by
// longjmp, so no local object between setjmp and the error may own memory.
#include <algorithm>
#include <utility>

#include "data/image.h"
#include "data/orientation.h"
#include "regard/error.h"

#ifdef REGARD_HAVE_JPEG
#include <cstdio>
// jpeglib.h must be included after cstdio, because it uses FILE.
#include <jpeglib.h>
// jerror.h must be included after jpeglib.h.
#include <jerror.h>

#include <csetjmp>

#endif

namespace regard::data {
#ifdef REGARD_HAVE_JPEG
namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;

struct Failure {
  jpeg_error_mgr manager{};
  std::jmp_buf back{};
  char text[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void fail(j_common_ptr codec) {
  auto* failure = reinterpret_cast<Failure*>(codec->err);
  codec->err->format_message(codec, failure->text);
  std::longjmp(failure->back, 1);
}

// Report missing data as an error, because libjpeg only warns and then computes wrong pixels. Ignore all
// other warnings.
void warn(j_common_ptr codec, int) {
  if (codec->err->msg_code == JWRN_JPEG_EOF || codec->err->msg_code == JWRN_HIT_MARKER) fail(codec);
}

struct Reader {
  jpeg_decompress_struct codec{};
  Failure failure;
  Reader() {
    codec.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = fail;
    failure.manager.emit_message = warn;
  }
  ~Reader() { jpeg_destroy_decompress(&codec); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

bool read_header(Reader& reader, std::string_view bytes) {
  if (setjmp(reader.failure.back) != 0) return false;
  jpeg_create_decompress(&reader.codec);
  jpeg_mem_src(&reader.codec, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_save_markers(&reader.codec, kExifMarker, 0xFFFF);
  jpeg_read_header(&reader.codec, TRUE);
  reader.codec.out_color_space = reader.codec.num_components == 4 ? JCS_CMYK : JCS_RGB;
  return true;
}

int orientation_of(const Reader& reader) {
  for (jpeg_saved_marker_ptr marker = reader.codec.marker_list; marker != nullptr; marker = marker->next)
    if (marker->marker == kExifMarker) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (data.starts_with("Exif")) return data::orientation_of(data);
    }
  return 1;
}

// Convert one row of inverted CMYK to RGB, with the same rounding as Pillow. Adobe's programs write inverted
// CMYK.
void to_rgb(const JSAMPLE* cmyk, std::uint8_t* rgb, JDIMENSION width) {
  for (JDIMENSION x = 0; x < width; ++x, cmyk += 4, rgb += 3)
    for (int colour = 0; colour < 3; ++colour) {
      const int black = cmyk[3], ink = 255 - cmyk[colour], product = ink * black + 128;
      rgb[colour] = static_cast<std::uint8_t>(std::clamp(black - (((product >> 8) + product) >> 8), 0, 255));
    }
}

// Read all rows of the image. `inks` is a buffer for one row of a CMYK image; it is empty for other images.
bool read_rows(Reader& reader, Image& image, std::vector<JSAMPLE>& inks) {
  if (setjmp(reader.failure.back) != 0) return false;
  jpeg_start_decompress(&reader.codec);
  while (reader.codec.output_scanline < reader.codec.output_height) {
    std::uint8_t* const pixels =
        image.pixels.data() +
        static_cast<std::size_t>(reader.codec.output_scanline) * 3 * reader.codec.output_width;
    JSAMPROW row = inks.empty() ? pixels : inks.data();
    jpeg_read_scanlines(&reader.codec, &row, 1);
    if (!inks.empty()) to_rgb(inks.data(), pixels, reader.codec.output_width);
  }
  jpeg_finish_decompress(&reader.codec);
  return true;
}

}  // namespace

Image decode_jpeg(std::string_view bytes, const std::string& file, std::int64_t most_pixels) {
  Reader reader;
  const auto damaged = [&] {
    return file_error(file, "the JPEG image is damaged").found(std::string(reader.failure.text));
  };
  if (!read_header(reader, bytes)) throw damaged();
  Image image = blank_image(reader.codec.image_height, reader.codec.image_width, file, most_pixels);
  std::vector<JSAMPLE> inks;
  if (reader.codec.num_components == 4) inks.resize(static_cast<std::size_t>(4 * image.width));
  const int orientation = orientation_of(reader);
  if (!read_rows(reader, image, inks)) throw damaged();
  return oriented(std::move(image), orientation);
}
#else
Image decode_jpeg(std::string_view, const std::string& file, std::int64_t) {
  throw unreadable_format(file, "JPEG", "libjpeg-turbo", "PPM");
}
#endif
}  // namespace regard::data
