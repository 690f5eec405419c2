// JPEG decoding with libjpeg(-turbo) and its default settings, like Pillow. libjpeg reports errors by
// longjmp, so no local object between setjmp and the error may own memory.
#include "data/image.h"
#include "regard/error.h"

#ifdef REGARD_HAVE_JPEG
#include <cstdio>
// Must follow cstdio, because it uses FILE.
#include <jpeglib.h>
// Must follow jpeglib.h.
#include <jerror.h>

#include <csetjmp>

namespace regard::data {
namespace {

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

// Treat missing data as an error, because libjpeg would invent the pixels. Ignore other warnings.
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
  jpeg_read_header(&reader.codec, TRUE);
  reader.codec.out_color_space = JCS_RGB;
  return true;
}

bool read_rows(Reader& reader, Image& image) {
  if (setjmp(reader.failure.back) != 0) return false;
  jpeg_start_decompress(&reader.codec);
  while (reader.codec.output_scanline < reader.codec.output_height) {
    JSAMPROW row = image.pixels.data() +
                   static_cast<std::size_t>(reader.codec.output_scanline) * 3 * reader.codec.output_width;
    jpeg_read_scanlines(&reader.codec, &row, 1);
  }
  jpeg_finish_decompress(&reader.codec);
  return true;
}

}  // namespace

Image decode_jpeg(std::string_view bytes, const std::string& file) {
  Reader reader;
  const auto damaged = [&] {
    return file_error(file, "the JPEG image is damaged").found(std::string(reader.failure.text));
  };
  if (!read_header(reader, bytes)) throw damaged();
  if (reader.codec.num_components > 3)
    throw file_error(file, "CMYK JPEG images are not supported").remedy("Convert it to RGB");
  Image image = blank_image(reader.codec.image_height, reader.codec.image_width, file);
  if (!read_rows(reader, image)) throw damaged();
  return image;
}

}  // namespace regard::data
#else
namespace regard::data {
Image decode_jpeg(std::string_view, const std::string& file) {
  throw file_error(file, "this build cannot read JPEG")
      .remedy("Build with libjpeg-turbo installed, or convert the image to PPM");
}
}  // namespace regard::data
#endif
