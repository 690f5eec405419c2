#include "text/id_buffer.h"

#include <algorithm>
#include <new>

namespace regard::text {

void IdBuffer::grow(std::size_t count) {
  const std::size_t capacity = std::max(size_ + count, capacity_ + capacity_ / 2 + 1024);
  // Large blocks move without a copy beside them.
  void* const moved = std::realloc(ids_.get(), capacity * sizeof(std::int32_t));
  if (moved == nullptr) throw std::bad_alloc();
  static_cast<void>(ids_.release());
  ids_.reset(static_cast<std::int32_t*>(moved));
  capacity_ = capacity;
}

}  // namespace regard::text
