// Memory that a program owns but must not access: the unused part of an arena or of a scratch buffer. In a
// build with AddressSanitizer, access to poisoned memory is reported; in other builds, nothing happens.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define REGARD_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REGARD_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(REGARD_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace regard::base {

#if defined(REGARD_ADDRESS_SANITIZER)
inline constexpr bool kPoisons = true;
inline void poison(const void* memory, std::size_t bytes) noexcept {
  __asan_poison_memory_region(memory, bytes);
}
inline void unpoison(const void* memory, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(memory, bytes);
}
inline bool is_poisoned(const void* byte) noexcept {
  return __asan_address_is_poisoned(byte) != 0;
}
#else
inline constexpr bool kPoisons = false;
inline void poison(const void*, std::size_t) noexcept {}
inline void unpoison(const void*, std::size_t) noexcept {}
inline bool is_poisoned(const void*) noexcept {
  return false;
}
#endif

}  // namespace regard::base
