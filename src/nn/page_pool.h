// PagePool: memory in pages of one size, each with a count of its users. What several sequences have in
// common is one page; it is free again when the last of them lets go.
//
// A bounded pool never has more pages than it was made with, so the memory is known before; another grows
// when asked. Taking, sharing and releasing allocate nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace regard {

class PagePool {
 public:
  explicit PagePool(std::int64_t floats_in_page) : floats_(floats_in_page) {}

  // Makes it at least `pages` large. Memory that nothing was written to costs nothing.
  void grow(std::int64_t pages);

  std::int64_t size() const { return static_cast<std::int64_t>(pages_.size()); }
  std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t floats() const { return floats_; }

  std::int32_t take();  // with one user, its content left as it is; free() must be above 0
  void share(std::int32_t page) { ++users_[static_cast<std::size_t>(page)]; }
  void release(std::int32_t page);
  std::int32_t users(std::int32_t page) const { return users_[static_cast<std::size_t>(page)]; }
  float* at(std::int32_t page) const { return pages_[static_cast<std::size_t>(page)]; }

 private:
  std::int64_t floats_;
  std::vector<std::unique_ptr<float, void (*)(void*)>> segments_;
  std::vector<float*> pages_;
  std::vector<std::int32_t> users_;
  std::vector<std::int32_t> free_;  // the one used last is taken first
};

}  // namespace regard
