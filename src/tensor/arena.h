// Arena: an allocator for objects that are used during one step only. reset() frees all objects at once. It
// keeps the memory, so later steps need no new memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/namespaces.h"
#include "regard/tensor.h"

namespace regard::tensor {

// Not thread-safe: only the thread that records the tape may allocate.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // throws resource_exhausted if there is not enough memory
  std::byte* allocate(std::size_t bytes, std::size_t alignment = 64);

  // return a tensor in the arena's memory, not initialised
  Tensor tensor(Shape shape, DType dtype = DType::f32);
  Tensor zeros(Shape shape, DType dtype = DType::f32);

  // Create an object. The destructor is never called, so the object must not own anything.
  template <class T, class... Arguments>
  T* make(Arguments&&... arguments) {
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Arguments>(arguments)...};
  }

  template <class T>
  std::span<T> array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    // NOLINTNEXTLINE(bugprone-sizeof-expression): sizeof(T) is also right if T is a pointer type
    return {new (allocate(sizeof(T) * count, alignof(T) < 64 ? 64 : alignof(T))) T[count], count};
  }

  // Return a copy of `from` in the arena.
  template <class T>
  std::span<T> copied(std::span<const T> from) {
    const std::span<T> kept = array<T>(from.size());
    std::copy(from.begin(), from.end(), kept.begin());
    return kept;
  }

  // A position in the arena, returned by mark(). rewind() frees everything that was allocated after this
  // position.
  struct Mark {
    std::size_t chunk = 0, used = 0;
  };
  Mark mark() const noexcept { return {current_, used_}; }
  void rewind(Mark mark) noexcept;

  void reset();  // frees all objects; replaces many chunks with one of sufficient size
  // Call reset() and return the physical memory to the system. Later writes allocate it again, page by page.
  void discard();
  std::size_t capacity() const noexcept;
  // Return the number of bytes of the capacity that objects have occupied since the last discard(). The
  // remaining bytes were never written, so they use no physical memory.
  std::size_t touched() const noexcept;
  bool contains(const void* memory) const noexcept;

 private:
  struct Chunk {
    std::unique_ptr<std::byte, void (*)(void*)> memory;
    std::size_t size;
    std::size_t touched = 0;
  };
  // Poison the touched bytes of the current chunk from byte `begin` on. The other bytes are poisoned already.
  void poison_from(std::size_t begin) const noexcept;

  std::vector<Chunk> chunks_;
  std::size_t current_ = 0, used_ = 0;
  std::size_t before_ = 0;     // number of bytes in the chunks before the current one
  std::size_t most_used_ = 0;  // maximum number of bytes used since the last reset
};

}  // namespace regard::tensor
