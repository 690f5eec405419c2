#include "tensor/arena.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/pages.h"
#include "base/poison.h"

namespace regard::tensor {
namespace {
constexpr std::size_t kPage = 4096;
constexpr std::size_t kSmallestChunk = 1u << 20;
constexpr std::size_t kMostChunks = 4;
}  // namespace

std::byte* Arena::allocate(std::size_t bytes, std::size_t alignment) {
  while (current_ < chunks_.size()) {
    const std::size_t start = (used_ + alignment - 1) / alignment * alignment;
    if (start + bytes <= chunks_[current_].size) {
      used_ = start + bytes;
      most_used_ = std::max(most_used_, before_ + used_);
      chunks_[current_].touched = std::max(chunks_[current_].touched, used_);
      std::byte* const memory = chunks_[current_].memory.get() + start;
      unpoison(memory, bytes);
      return memory;
    }
    if (current_ + 1 == chunks_.size()) break;
    before_ += chunks_[current_].size;
    ++current_;
    used_ = 0;
  }
  // Grow by a quarter of the capacity, so that a step that requires slightly more does not double the memory.
  const std::size_t more = std::max(kSmallestChunk, capacity() / 4);
  const std::size_t size = (std::max(bytes, more) + kPage - 1) / kPage * kPage;
  auto* memory = static_cast<std::byte*>(allocate_pages(size));
  if (!chunks_.empty()) before_ += chunks_[current_].size;
  chunks_.push_back({{memory, std::free}, size, bytes});
  poison(memory + bytes, size - bytes);
  current_ = chunks_.size() - 1;
  used_ = bytes;
  most_used_ = std::max(most_used_, before_ + used_);
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
  for (; current_ > mark.chunk; before_ -= chunks_[--current_].size) poison_from(0);
  used_ = mark.used;
  poison_from(used_);
}

void Arena::poison_from(std::size_t begin) const noexcept {
  if (current_ >= chunks_.size() || begin >= chunks_[current_].touched) return;
  poison(chunks_[current_].memory.get() + begin, chunks_[current_].touched - begin);
}

void Arena::reset() {
  // Keep up to kMostChunks chunks. Replacing them with one chunk costs time, because the system must zero the
  // memory of the new chunk.
  if (chunks_.size() > kMostChunks) {
    // Size of the new chunk: the maximum memory used since the last reset(), plus 1/16 for different shapes
    // in the next step.
    std::size_t total = most_used_ + most_used_ / 16;
    total = (total + kPage - 1) / kPage * kPage;
    chunks_.clear();
    auto* memory = static_cast<std::byte*>(allocate_pages(total));
    chunks_.push_back({{memory, std::free}, total, 0});
    poison(memory, total);
    current_ = before_ = 0;
  }
  rewind({});
  most_used_ = 0;
}

void Arena::discard() {
  reset();
  for (Chunk& chunk : chunks_) {
    discard_pages(chunk.memory.get(), chunk.size);
    chunk.touched = 0;
  }
}

bool Arena::contains(const void* memory) const noexcept {
  const std::less<const void*> before;
  return std::any_of(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) {
    return !before(memory, chunk.memory.get()) && before(memory, chunk.memory.get() + chunk.size);
  });
}

std::size_t Arena::capacity() const noexcept {
  std::size_t total = 0;
  for (const Chunk& chunk : chunks_) total += chunk.size;
  return total;
}

std::size_t Arena::touched() const noexcept {
  std::size_t total = 0;
  for (const Chunk& chunk : chunks_) total += chunk.touched;
  return total;
}

}  // namespace regard::tensor
