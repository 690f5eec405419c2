// Growing array of ids. Growth does not fill new memory with zeros, and large arrays grow without copying.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace regard::text {

class IdBuffer {
 public:
  IdBuffer() = default;
  IdBuffer(IdBuffer&& other) noexcept { swap(other); }
  IdBuffer& operator=(IdBuffer&& other) noexcept {
    IdBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }

  // Reserve space for `count` more ids and return a pointer to it. advance() adds written ids to the array.
  std::int32_t* reserve(std::size_t count) {
    if (size_ + count > capacity_) grow(count);
    return ids_.get() + size_;
  }
  void advance(std::size_t count) noexcept { size_ += count; }
  void push(std::int32_t id) {
    *reserve(1) = id;
    ++size_;
  }
  void append(std::span<const std::int32_t> ids) {
    if (!ids.empty()) std::memcpy(reserve(ids.size()), ids.data(), ids.size_bytes());
    size_ += ids.size();
  }
  // Prepare for about `count` more ids. If `count` is large, memory for up to 64 million ids is reserved at
  // once in large pages; pages that are never written use no memory.
  void expect(std::size_t count);
  void clear() noexcept { size_ = 0; }
  std::int32_t& first() noexcept { return ids_[0]; }
  std::int32_t& last() noexcept { return ids_[size_ - 1]; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::span<const std::int32_t> ids() const noexcept { return {ids_.get(), size_}; }

 private:
  void grow(std::size_t count);
  void swap(IdBuffer& other) noexcept {
    std::swap(ids_, other.ids_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  struct Free {
    void operator()(std::int32_t* ids) const noexcept { std::free(ids); }
  };
  std::unique_ptr<std::int32_t[], Free> ids_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace regard::text
