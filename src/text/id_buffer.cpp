#include "text/id_buffer.h"

#include <algorithm>
#include <new>

#include "base/pages.h"

namespace regard::text {

void IdBuffer::grow(std::size_t count) {
  const std::size_t capacity = std::max(size_ + count, capacity_ + capacity_ / 2 + 1024);
  // realloc moves a large block by remapping its pages, without copying.
  void* const moved = std::realloc(ids_.get(), capacity * sizeof(std::int32_t));
  if (moved == nullptr) throw std::bad_alloc();
  static_cast<void>(ids_.release());
  ids_.reset(static_cast<std::int32_t*>(moved));
  capacity_ = capacity;
}

void IdBuffer::expect(std::size_t count) {
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  // maximum number of ids for which memory is reserved at once
  constexpr std::size_t kMost = std::size_t{1} << 26;
  count = std::min(count, kMost);
  if (count < kLarge || capacity_ - size_ >= count) return;
  const std::size_t capacity = size_ + count;
  std::unique_ptr<std::int32_t[], Free> roomy(
      static_cast<std::int32_t*>(allocate_pages(capacity * sizeof(std::int32_t))));
  if (size_ > 0) std::memcpy(roomy.get(), ids_.get(), size_ * sizeof(std::int32_t));
  ids_ = std::move(roomy);
  capacity_ = capacity;
}

}  // namespace regard::text
