// Arena: memory for everything that lives for one step. reset() forgets it all at once and keeps the memory,
// so that after the first steps nothing is allocated any more.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "regard/tensor.h"

namespace regard {

// Not for several threads at once: the thread that records the tape is the one that allocates.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* allocate(std::size_t bytes, std::size_t alignment = 64);  // throws std::bad_alloc

  Tensor tensor(Shape shape, DType dtype = DType::f32);  // a view; content undefined
  Tensor zeros(Shape shape, DType dtype = DType::f32);

  // An object whose destructor need not run: trivial, or holding only views.
  template <class T, class... Arguments>
  T* make(Arguments&&... arguments) {
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Arguments>(arguments)...};
  }

  template <class T>
  std::span<T> array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    return {new (allocate(sizeof(T) * count, alignof(T) < 64 ? 64 : alignof(T))) T[count], count};
  }

  // Where the arena stands; rewind(mark) frees everything allocated since.
  struct Mark {
    std::size_t chunk = 0, used = 0;
  };
  Mark mark() const noexcept { return {current_, used_}; }
  void rewind(Mark mark) noexcept;

  void reset();  // forgets everything; many chunks become one large enough for all
  std::size_t capacity() const noexcept;

 private:
  struct Chunk {
    std::unique_ptr<std::byte, void (*)(void*)> memory;
    std::size_t size;
  };
  std::vector<Chunk> chunks_;
  std::size_t current_ = 0, used_ = 0;
  std::size_t before_ = 0;     // bytes of the chunks before the current one
  std::size_t most_used_ = 0;  // since the last reset
};

}  // namespace regard
