// PNG decoding with libpng. libpng reports errors by longjmp, so no local object between setjmp and the error
// may own memory.
#include <utility>

#include "data/image.h"
#include "data/orientation.h"
#include "regard/error.h"

#ifdef REGARD_HAVE_PNG
#include <png.h>

#include <csetjmp>
#include <cstring>

#endif

namespace regard::data {
#ifdef REGARD_HAVE_PNG
namespace {

struct Source {
  const char* at;
  std::size_t left;
};

void read_bytes(png_structp png, png_bytep to, png_size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (source->left < count) png_error(png, "unexpected end of file");
  std::memcpy(to, source->at, count);
  source->at += count, source->left -= count;
}

struct Failure {
  char text[128] = "";
};

[[noreturn]] void fail(png_structp png, png_const_charp text) {
  auto* failure = static_cast<Failure*>(png_get_error_ptr(png));
  std::strncpy(failure->text, text, sizeof(failure->text) - 1);
  std::longjmp(png_jmpbuf(png), 1);
}

void ignore(png_structp, png_const_charp) {}

// Owns the libpng structures.
struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

// Read the header and configure the conversion of every kind of PNG to 8-bit RGB. Returns false if the
// header is damaged.
bool read_header(Reader& reader, Source& source) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &source, read_bytes);
  png_set_user_limits(reader.png, kLongestSide, kLongestSide);
  png_read_info(reader.png, reader.info);
  png_set_expand(reader.png);
  png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

// Return the orientation that the eXIf chunk before the pixels specifies; 1 if there is no such chunk.
int orientation_of(Reader& reader) {
#ifdef PNG_eXIf_SUPPORTED
  png_uint_32 size = 0;
  png_bytep data = nullptr;
  if (png_get_eXIf_1(reader.png, reader.info, &size, &data) != 0 && data != nullptr)
    return data::orientation_of({reinterpret_cast<const char*>(data), size});
#endif
  return 1;
}

bool read_rows(Reader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  return true;
}

}  // namespace

Image decode_png(std::string_view bytes, const std::string& file, std::int64_t most_pixels) {
  Failure failure;
  Source source{bytes.data(), bytes.size()};
  Reader reader;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure, fail, ignore);
  reader.info = reader.png != nullptr ? png_create_info_struct(reader.png) : nullptr;
  if (reader.info == nullptr) throw std::bad_alloc();
  const auto damaged = [&] {
    return file_error(file, "the PNG image is damaged").found(std::string(failure.text));
  };
  if (!read_header(reader, source)) throw damaged();
  Image image = blank_image(png_get_image_height(reader.png, reader.info),
                            png_get_image_width(reader.png, reader.info), file, most_pixels);
  if (png_get_rowbytes(reader.png, reader.info) != static_cast<std::size_t>(3 * image.width))
    throw file_error(file, "unknown PNG colour type")
        .found(std::to_string(png_get_color_type(reader.png, reader.info)))
        .expected("0, 2, 3, 4 or 6")
        .remedy("Save the image as RGB");
  std::vector<png_bytep> rows(static_cast<std::size_t>(image.height));
  for (std::size_t y = 0; y < rows.size(); ++y)
    rows[y] = image.pixels.data() + y * static_cast<std::size_t>(3 * image.width);
  if (!read_rows(reader, rows.data())) throw damaged();
  return oriented(std::move(image), orientation_of(reader));
}
#else
Image decode_png(std::string_view, const std::string& file, std::int64_t) {
  throw unreadable_format(file, "PNG", "libpng", "PPM");
}
#endif
}  // namespace regard::data
