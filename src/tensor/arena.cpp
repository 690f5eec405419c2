#include "tensor/arena.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/pages.h"

namespace regard {
namespace {
constexpr std::size_t kPage = 4096;
constexpr std::size_t kSmallestChunk = 1u << 20;
}  // namespace

std::byte* Arena::allocate(std::size_t bytes, std::size_t alignment) {
  while (current_ < chunks_.size()) {
    const std::size_t start = (used_ + alignment - 1) / alignment * alignment;
    if (start + bytes <= chunks_[current_].size) {
      used_ = start + bytes;
      return chunks_[current_].memory.get() + start;
    }
    if (current_ + 1 == chunks_.size()) break;
    ++current_;
    used_ = 0;
  }
  const std::size_t doubled = chunks_.empty() ? kSmallestChunk : chunks_.back().size * 2;
  const std::size_t size = (std::max(bytes, doubled) + kPage - 1) / kPage * kPage;
  auto* memory = static_cast<std::byte*>(allocate_pages(size));
  chunks_.push_back({{memory, std::free}, size});
  current_ = chunks_.size() - 1;
  used_ = bytes;
  return memory;
}

Tensor Arena::tensor(Shape shape, DType dtype) {
  return Tensor::view(allocate(static_cast<std::size_t>(shape.elements()) * size_of(dtype)), shape, dtype);
}

Tensor Arena::zeros(Shape shape, DType dtype) {
  Tensor tensor = this->tensor(shape, dtype);
  std::memset(tensor.data(), 0, tensor.bytes());
  return tensor;
}

void Arena::rewind(Mark mark) noexcept {
  current_ = mark.chunk;
  used_ = mark.used;
}

void Arena::reset() {
  if (chunks_.size() > 1) {
    const std::size_t total = capacity();
    chunks_.clear();
    auto* memory = static_cast<std::byte*>(allocate_pages(total));
    chunks_.push_back({{memory, std::free}, total});
  }
  current_ = 0;
  used_ = 0;
}

std::size_t Arena::capacity() const noexcept {
  std::size_t total = 0;
  for (const Chunk& chunk : chunks_) total += chunk.size;
  return total;
}

}  // namespace regard
