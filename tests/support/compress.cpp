#include "support/compress.h"

#if REGARD_HAVE_ZLIB
#include <zlib.h>
#endif
#if REGARD_HAVE_ZSTD
#include <zstd.h>
#endif

namespace regard::testing {

std::string gzip([[maybe_unused]] std::string_view bytes) {
#if REGARD_HAVE_ZLIB
  constexpr int kWindowBits = 15, kGzip = 16, kMemory = 8;
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kWindowBits + kGzip, kMemory, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
#else
  return {};
#endif
}

std::string zstd([[maybe_unused]] std::string_view bytes) {
#if REGARD_HAVE_ZSTD
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
#else
  return {};
#endif
}

}  // namespace regard::testing
