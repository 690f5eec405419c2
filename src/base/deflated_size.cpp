#include "base/deflated_size.h"

#ifdef REGARD_HAVE_ZLIB
#include <zlib.h>

#include <vector>
#endif

namespace regard::base {

std::optional<std::size_t> deflated_size(std::string_view data) {
#ifdef REGARD_HAVE_ZLIB
  uLongf size = compressBound(static_cast<uLong>(data.size()));
  std::vector<Bytef> to(size);
  if (compress(to.data(), &size, reinterpret_cast<const Bytef*>(data.data()),
               static_cast<uLong>(data.size())) != Z_OK)
    return std::nullopt;
  return size;
#else
  static_cast<void>(data);
  return std::nullopt;
#endif
}

}  // namespace regard::base
