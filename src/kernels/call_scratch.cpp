#include "kernels/call_scratch.h"

#include <cstdlib>
#include <memory>

#include "base/poison.h"
#include "regard/error.h"

namespace regard::kernels {

std::byte* call_scratch(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  thread_local std::unique_ptr<std::byte, void (*)(void*)> memory{nullptr, std::free};
  thread_local std::size_t size = 0;
  if (bytes > size) {
    const std::size_t wanted = (bytes + bytes / 2 + kAlignment) / kAlignment * kAlignment;
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, wanted)));
    size = memory == nullptr ? 0 : wanted;
    if (memory == nullptr) throw out_of_memory(wanted);
  }
  base::unpoison(memory.get(), bytes);
  base::poison(memory.get() + bytes, size - bytes);
  return memory.get();
}

}  // namespace regard::kernels
