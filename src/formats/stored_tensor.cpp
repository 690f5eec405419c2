#include "formats/stored_tensor.h"

#include <cstddef>

namespace regard::formats::pickle {

bool is_inside_storage(const StoredTensor& tensor) {
  std::uint64_t elements = 1, last = tensor.offset;
  bool overflow = false, empty = false;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    const auto extent = static_cast<std::uint64_t>(tensor.shape[i]);
    empty = empty || extent == 0;
    std::uint64_t step = 0;
    overflow = overflow || __builtin_mul_overflow(elements, extent, &elements);
    if (extent == 0) continue;
    overflow = overflow ||
               __builtin_mul_overflow(extent - 1, static_cast<std::uint64_t>(tensor.stride[i]), &step) ||
               __builtin_add_overflow(last, step, &last);
  }
  const std::uint64_t available = tensor.storage->elements;
  return !overflow && (empty ? tensor.offset <= available : last < available && elements <= available);
}

}  // namespace regard::formats::pickle
